"""`/livez`: does this process live? `/healthz`: is it ready for requests? For load balancers and containers."""

import logging

from asgiref.sync import sync_to_async
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from agui import conf
from agui.later import Later

# Commands import the routes, and don't wait for the agent.
live, shutdown = Later("agui.runs.live", "live"), Later("agui.runs.shutdown", "shutdown")

logger = logging.getLogger("agui.health")


@require_safe
async def livez(request: HttpRequest) -> JsonResponse:
    """Answer 200 whatever else is away: where this doesn't, a restart helps."""
    return JsonResponse({"status": "ok"}, headers={"Cache-Control": "no-store"})


@require_safe
async def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200 when the database does, else 503; 503 as well from a process that is about to end.

    Without Redis runs go on: who took the process out of service would end them.
    """
    healthy = await sync_to_async(_database_answers)()
    checks = {"database": healthy}
    if conf.get().redis_url:
        checks["redis"] = await live.logs.is_reachable()
    status = "ok" if all(checks.values()) else "degraded" if healthy else "unavailable"
    if shutdown.has_begun:
        status = "ending"
    return JsonResponse(
        {"status": status, **checks},
        status=200 if status in ("ok", "degraded") else 503,
        headers={"Cache-Control": "no-store"},
    )


def _database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        logger.exception("The database does not answer.")
        return False
    return True
