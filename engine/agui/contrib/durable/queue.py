"""The queue of orders: DBOS keeps it in the schema "dbos" of the project's PostgreSQL."""

import logging
from collections.abc import Sequence
from datetime import timedelta
from functools import cache

from dbos import DBOSClient, EnqueueOptions, WorkflowStatus
from django.db import connections, router
from psycopg.errors import UndefinedTable
from sqlalchemy import URL
from sqlalchemy.exc import ProgrammingError

from agui import clock
from agui.contrib.durable.models import RunOrder
from agui.models import Run

logger = logging.getLogger("agui.durable")

NAME = "agui"
QUEUE = "agui-runs"
WORKFLOW = "agui-run"
# The version never changes, so that after a deploy the new workers take over the runs of the old
# ones: a run goes on from its draft, and not from a place in the code.
VERSION = "1"
BATCH = 500


def database_url() -> str:
    """Return the address of the runs' database for SQLAlchemy."""
    database = connections[router.db_for_write(Run)].settings_dict
    options = {}
    for name, value in database.get("OPTIONS", {}).items():
        if type(value) in (str, int):
            options[name] = str(value)
    url = URL.create(
        "postgresql+psycopg",
        username=database["USER"] or None,
        password=database["PASSWORD"] or None,
        host=database["HOST"] or None,
        port=int(database["PORT"]) if database["PORT"] else None,
        database=database["NAME"],
        query=options,
    )
    return url.render_as_string(hide_password=False)


@cache
def client() -> DBOSClient:
    return DBOSClient(system_database_url=database_url(), application_name=NAME, lazy=True)


async def enqueue(key: str) -> None:
    """Let some worker execute a run. A second time, this changes nothing."""
    try:
        await client().enqueue_async(_options(key), key)
    except ProgrammingError as error:
        if not isinstance(error.orig, UndefinedTable):
            raise
        logger.warning("Run %s waits: start an agent_worker, which creates the queue", key)


def _options(key: str) -> EnqueueOptions:
    return {
        "queue_name": QUEUE,
        "workflow_name": WORKFLOW,
        "workflow_id": key,
        "app_version": VERSION,
    }


def states(keys: Sequence[str]) -> dict[str, WorkflowStatus]:
    """Return what the queue knows about these runs, by their keys."""
    if not keys:
        return {}
    workflows = client().list_workflows(
        workflow_ids=list(keys), load_input=False, load_output=False
    )
    return {workflow.workflow_id: workflow for workflow in workflows}


def enqueue_again(key: str) -> None:
    """Let another worker execute a run whose worker is dead, or that is not in the queue yet."""
    state = states([key]).get(key)
    if state is None:
        client().enqueue(_options(key), key)
    elif state.status in ("SUCCESS", "ERROR"):
        client().rewind_workflow(key, queue_name=QUEUE)
    elif state.status != "ENQUEUED":
        client().resume_workflow(key, queue_name=QUEUE)


def forget_ended() -> None:
    """Delete runs that have ended from the queue: their rows say more.

    Their rows also say which have ended: a worker may have been killed before it told the queue.
    """
    before = (clock.now() - timedelta(hours=1)).isoformat()
    while True:
        workflows = client().list_workflows(
            name=WORKFLOW, end_time=before, limit=BATCH, load_input=False, load_output=False
        )
        keys = {workflow.workflow_id for workflow in workflows}
        running = RunOrder.objects.filter(run_id__in=keys)
        ended = keys - set(map(str, running.values_list("pk", flat=True)))
        if not ended:
            return
        client().delete_workflows(list(ended))
