"""tenants.md, followed word for word: django-tenants on PostgreSQL. No query of a run leaves its tenant's schema."""

from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from conftest import MANUAL
from guide import sections
from postgresql import PostgreSQL
from projects import append
from servers import Client, Daphne, contents, events, free_port, manage, run_input, text_of, wait_until

pytestmark = [pytest.mark.servers, pytest.mark.nightly]

# Counts the queries to tables of the engine and the agent, by the schema that they reach.
COUNTING = """
from config.settings import *
import re
from django.db.backends.utils import CursorWrapper

execute = CursorWrapper._execute_with_wrappers

def record(self, sql, params, many, executor):
    result = execute(self, sql, params, many, executor)
    if re.search(r'\\b(agui|assistant)_', str(sql)):
        with self.db.connection.cursor() as cursor:
            schema = cursor.execute("SELECT current_schema()").fetchone()[0]
        with open(BASE_DIR / "queries.txt", "a") as file:
            file.write(f"{schema} {str(sql)[:60]!r}\\n")
    return result

CursorWrapper._execute_with_wrappers = record
"""
SECOND = (
    "from shops.models import *; from users.models import User; User.objects.create_user('ada');"
    "Domain.objects.create(domain='other.localhost', tenant=Shop.objects.create(schema_name='other', name='Other'))"
)


class Tenant(Client):
    """A client at one tenant's address."""

    def __init__(self, port: int, token: str, host: str) -> None:
        super().__init__(port, token)
        self.host = host

    def open(self, method, path, body=None, headers=None):
        return super().open(method, path, body, {"Host": self.host} | (headers or {}))


@pytest.fixture
def project(furnished: Callable[..., Path], postgresql_server: PostgreSQL) -> Path:
    package = find_spec("django_tenants")
    if package is None:
        pytest.skip("django-tenants is not installed.")
    project = furnished("", counting_settings=COUNTING)
    address = postgresql_server.create(project.parent.name)
    append(project / ".env", f"\nDATABASE_URL={address}\nALLOWED_HOSTS=.localhost,127.0.0.1\n")
    (project / "django_tenants").symlink_to(Path(package.origin).parent)
    guide = sections(MANUAL / "tenants.md")["Set it up"]
    guide.follow(project, skip=lambda command: "pip install" in command)
    manage(project, "shell", "-c", SECOND)
    return project


def test_no_query_of_a_run_leaves_the_schema_of_its_tenant(project: Path, postgresql_server: PostgreSQL):
    database = project.parent.name
    settings = {"DJANGO_SETTINGS_MODULE": "counting_settings"}
    tokens = {
        name: manage(project, "tenant_command", "create_token", "ada", f"--schema={name}").strip().splitlines()[-1]
        for name in ("acme", "other")
    }
    live = Daphne(project, free_port(), "ada", "", "", settings)
    live.start()
    try:
        acme, other = (Tenant(live.port, token, f"{name}.localhost") for name, token in tokens.items())
        # A tool, an approval, and a message that waits for the end of the run.
        acme.run('add_task title="Milk"', threadId="t1")
        acme.run("complete_task 1", threadId="t1")
        asked = acme.run("delete_finished_tasks", threadId="t1")[-1]["outcome"]["interrupts"]
        queued = {"message": {"id": "q1", "role": "user", "content": "list_tasks"}}
        assert acme.fetch("POST", "/agent/threads/t1/messages/", queued)[0] == 202
        resume = [{"interruptId": asked[0]["id"], "status": "resolved", "payload": {"approved": True}}]
        acme.run("", threadId="t1", messages=[], resume=resume)
        wait_until(lambda: "`list_tasks` returned nothing." in contents(acme.thread("t1"))[-1])
        # Another tenant, whose user and thread have the same names, sees nothing of it.
        assert "`list_tasks` returned nothing." in text_of(other.run("list_tasks", threadId="t2"))
        assert other.fetch("GET", "/agent/threads/t1/")[0] == 404
        # A process dies while it answers, after it has saved a draft and sent a heartbeat.
        with acme.open("POST", "/agent/", run_input("help", threadId="t3")) as response:
            stream = events(response)
            while next(stream)["type"] != "TEXT_MESSAGE_CONTENT":
                pass
            saved = "SELECT 1 FROM acme.agui_run WHERE status = 'running' AND draft IS NOT NULL"
            wait_until(lambda: postgresql_server.query(database, saved))
            live.kill()
        live.start()
        acme.run("list_tasks", threadId="t3")
        assert "I am the offline demo model" in contents(acme.thread("t3"))[1]
    finally:
        live.stop()
    assert "does not exist" not in live.log.read_text()
    made = [line.partition(" ")[0] for line in (project / "queries.txt").read_text().splitlines()]
    assert Counter(made).keys() == {"acme", "other"}
    assert Counter(made)["acme"] > 50
    assert postgresql_server.query(database, "SELECT count(*) FROM other.agui_run") == ["1"]
