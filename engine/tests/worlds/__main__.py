"""A user's life in another world: WORLD='{"key": "uuid", "directory": "..."}' python -m tests.worlds

It fails with a traceback, and says nothing if all is well.
"""

import asyncio
import os
from typing import Any

import django
from asgiref.sync import sync_to_async
from django.apps import apps
from django.core.management import call_command
from django.db import OperationalError, connections, models, router
from django.test import AsyncClient, Client

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.worlds.settings"
PAGES = ["people/talk/", *(f"agui/{name}/" for name in ("run", "auditrecord", "apitoken"))]


def main() -> None:
    django.setup()
    from django.conf import settings

    call_command("check", fail_level="ERROR")
    call_command("makemigrations", "people", verbosity=0)
    for alias in settings.DATABASES:
        call_command("migrate", database=alias, verbosity=0)
    asyncio.run(live(make_person("ada"), make_person("bob")))
    check_health()


def make_person(name: str) -> Any:
    from django.conf import settings

    from tests.worlds.people.models import Contact, Person

    fields: dict[str, Any] = {}
    if settings.WORLD["key"] == "row":
        fields["key"] = Contact.objects.create()
    if settings.WORLD["key"] == "text":
        fields["key"] = f"user:{name}/b c@d"
    return Person.objects.create_user(f"{name}@example.com", is_staff=True, is_superuser=True, **fields)


def check_health() -> None:
    """The database that matters is the agent's."""
    from agui.models import Run

    def refuse(*args: Any) -> None:
        raise OperationalError("away")

    assert Client().get("/healthz").status_code == 200
    with connections[router.db_for_read(Run)].execute_wrapper(refuse):
        assert Client().get("/healthz").status_code == 503


async def live(ada: Any, bob: Any) -> None:
    from agui.http.tokens import create_token
    from tests import way

    tokens = [(await sync_to_async(create_token)(person))[1] for person in (ada, bob)]
    of_ada, of_bob = [{"authorization": f"Bearer {token}"} for token in tokens]
    anybody, browser = AsyncClient(), AsyncClient()
    await browser.aforce_login(ada)
    for prefix in ("/agent/", "/second/"):
        thread = await way.begin(anybody, prefix, **of_ada)
        assert await way.threads(browser, prefix) == [thread]
        assert await way.threads(anybody, prefix, **of_bob) == []
        await way.end(browser, prefix, thread)
        await way.begin(browser, prefix)
    for page in PAGES if apps.is_installed("agui.contrib.admin") else []:
        assert (await browser.get(f"/admin/{page}")).status_code == 200, page

    # A deletion that keeps the row: its user can't sign in any more.
    assert await sync_to_async(rows_of)(ada)
    await sync_to_async(ada.delete)()
    assert (await anybody.get("/agent/threads/", headers=of_ada)).status_code == 401
    assert (await browser.get("/agent/threads/")).status_code == 401
    # A deletion of the row leaves nothing.
    await sync_to_async(lambda: type(ada)._base_manager.filter(pk=ada.pk).delete())()
    assert await sync_to_async(rows_of)(ada) == []


def rows_of(person: Any) -> list[models.Model]:
    """What the engine and its parts keep of somebody."""
    from agui import get_conversation_model

    found: list[models.Model] = []
    engine = [config for config in apps.get_app_configs() if config.name.startswith("agui")]
    for model in [get_conversation_model(), *(model for config in engine for model in config.get_models())]:
        found += [row for row in model._base_manager.all() if str(person.pk) in map(str, vars(row).values())]
        if hasattr(model, "scope"):
            found += model._base_manager.filter(scope__endswith=f"user:{person.pk}")
    return found


main()
