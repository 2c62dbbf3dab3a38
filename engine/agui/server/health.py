"""`/livez` says that this process lives, and `/healthz` that it is ready for requests.

Load balancers and containers ask these.
"""

import logging

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connections, router
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from agui.lazy_import import LazyImport
from agui.models import Run

# Commands import the routes, and must not wait for the import of the agent.
live = LazyImport("agui.runs.live", "live")
shutdown = LazyImport("agui.runs.shutdown", "shutdown")

logger = logging.getLogger("agui.health")


@require_safe
@login_not_required
async def livez(request: HttpRequest) -> JsonResponse:
    """Answer 200, even if others are away. A process that doesn't answer needs a restart."""
    return JsonResponse({"status": "ok"}, headers={"Cache-Control": "no-store"})


@require_safe
@login_not_required
async def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200 if the database answers and the process is not about to end, and 503 otherwise.

    Without the server that shares runs it stays 200: the runs of this process continue, and taking
    the process out of service would end them.
    """
    has_database = await sync_to_async(_database_answers)()
    checks = {"database": has_database, **await live.logs.check()}
    if shutdown.has_begun:
        status = "ending"
    elif not has_database:
        status = "unavailable"
    elif not all(checks.values()):
        status = "degraded"
    else:
        status = "ok"
    return JsonResponse(
        {"status": status, **checks},
        status=200 if status in ("ok", "degraded") else 503,
        headers={"Cache-Control": "no-store"},
    )


def _database_answers() -> bool:
    alias = router.db_for_read(Run)
    try:
        with connections[alias].cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        logger.exception("Health check failed: database %r does not answer", alias)
        return False
    return True
