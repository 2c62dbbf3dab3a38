"""`/healthz`: can this process serve a request? For load balancers and containers; it needs no login."""

import logging

from asgiref.sync import sync_to_async
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from agui import conf, runs

logger = logging.getLogger(__name__)


@require_safe
async def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200 when the database does, else 503.

    Without Redis runs go on: who took the process out of service, or restarted it, would end them.
    """
    healthy = await sync_to_async(_database_answers)()
    checks = {"database": healthy}
    if conf.get().redis_url:
        checks["redis"] = await runs.logs.is_reachable()
    status = "ok" if all(checks.values()) else "degraded" if healthy else "unavailable"
    return JsonResponse(
        {"status": status, **checks},
        status=200 if healthy else 503,
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
