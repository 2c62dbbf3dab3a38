"""`/healthz`: can this process serve a request? For load balancers and containers; it needs no login."""

import logging

from asgiref.sync import sync_to_async
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse

logger = logging.getLogger(__name__)


async def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200 when the database does, else 503."""
    healthy = await sync_to_async(_database_answers)()
    return JsonResponse(
        {"status": "ok" if healthy else "unavailable", "database": healthy},
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
