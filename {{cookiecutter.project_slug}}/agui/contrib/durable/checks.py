from importlib.util import find_spec
from typing import Any

from django.apps import apps
from django.core import checks
from django.db import connections, router
from django.utils.module_loading import import_string

from agui import conf
from agui.contrib.durable.conf import DurableSettings


def check_executor(**kwargs: Any) -> list[checks.CheckMessage]:
    """Is all there that workers need?"""
    if not conf.part(DurableSettings).is_on:
        return []
    database = connections[router.db_for_write(apps.get_model("agui", "Run"))]
    store = import_string(conf.get().conversation_store)
    needs = {
        "the library: `make setup EXTRAS=durable`": find_spec("dbos") is not None,
        "PostgreSQL: set DATABASE_URL": database.vendor == "postgresql",
        "Redis, to follow and stop runs of other processes: set REDIS_URL": conf.get().redis_url
        is not None,
        "a store of conversations that needs no request to be opened": not store.needs_request,
    }
    return [
        checks.Error(
            f"AGUI['DURABLE']['RUN_EXECUTOR'] is 'dbos', and lacks {need}.", id="agui.E003"
        )
        for need, is_met in needs.items()
        if not is_met
    ]
