"""Where orders wait for a worker: a queue of DBOS, in the schema "dbos" of the project's PostgreSQL."""

import logging
from collections.abc import Sequence
from datetime import timedelta
from functools import cache

from dbos import DBOSClient, EnqueueOptions, WorkflowStatus
from django.db import connections, router
from django.utils import timezone
from psycopg.errors import UndefinedTable
from sqlalchemy import URL
from sqlalchemy.exc import ProgrammingError

from agui.models import Run

logger = logging.getLogger("agui.durable")

NAME = "agui"
QUEUE = "agui-runs"
WORKFLOW = "agui-run"
# A run goes on from its draft, whatever the code was that began it: a deploy leaves no run to
# workers that are gone.
VERSION = "1"
BATCH = 500


def database_url() -> str:
    """The database of the runs, as SQLAlchemy writes it."""
    found = connections[router.db_for_write(Run)].settings_dict
    options = {
        name: str(value)
        for name, value in found.get("OPTIONS", {}).items()
        if type(value) in (str, int)
    }
    url = URL.create(
        "postgresql+psycopg",
        username=found["USER"] or None,
        password=found["PASSWORD"] or None,
        host=found["HOST"] or None,
        port=int(found["PORT"]) if found["PORT"] else None,
        database=found["NAME"],
        query=options,
    )
    return url.render_as_string(hide_password=False)


@cache
def client() -> DBOSClient:
    return DBOSClient(system_database_url=database_url(), application_name=NAME, lazy=True)


async def enqueue(key: str) -> None:
    """Have some worker execute a run. Once more changes nothing."""
    try:
        await client().enqueue_async(_options(key), key)
    except ProgrammingError as error:
        if not isinstance(error.orig, UndefinedTable):
            raise
        logger.warning("Run %s waits for the first worker: that makes the queue", key)


def _options(key: str) -> EnqueueOptions:
    return {
        "queue_name": QUEUE,
        "workflow_name": WORKFLOW,
        "workflow_id": key,
        "app_version": VERSION,
    }


def states(keys: Sequence[str]) -> dict[str, WorkflowStatus]:
    """What the queue knows of these runs."""
    if not keys:
        return {}
    found = client().list_workflows(workflow_ids=list(keys), load_input=False, load_output=False)
    return {one.workflow_id: one for one in found}


def enqueue_again(key: str) -> None:
    """Have another worker execute a run whose worker is dead, or that never got here."""
    state = states([key]).get(key)
    if state is None:
        client().enqueue(_options(key), key)
    elif state.status in ("SUCCESS", "ERROR"):
        client().rewind_workflow(key, queue_name=QUEUE)
    elif state.status != "ENQUEUED":
        client().resume_workflow(key, queue_name=QUEUE)


def forget_ended() -> None:
    """Delete what the queue still holds of runs that are over: their rows say more.

    Not by what the queue knows: a worker that was killed may have ended a run without telling it.
    """
    before = (timezone.now() - timedelta(hours=1)).isoformat()
    while True:
        found = client().list_workflows(
            name=WORKFLOW, end_time=before, limit=BATCH, load_input=False, load_output=False
        )
        keys = {one.workflow_id for one in found}
        on = Run.objects.filter(pk__in=keys, order__isnull=False).values_list("pk", flat=True)
        if not (over := keys - set(map(str, on))):
            return
        client().delete_workflows(list(over))
