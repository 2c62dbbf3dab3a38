"""Fill a site and ask it: `python -m grown SHARE` prints milliseconds by the name of the figure, as JSON.

SHARE is the part of the whole size: 1, or 0.1 for a tenth.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import islice
from statistics import median
from typing import Any

import django

django.setup()

from agui.contrib.dashboard.rollup import roll_up  # noqa: E402
from agui.http.tokens import create_token  # noqa: E402
from agui.models import Message, Run, get_conversation_model  # noqa: E402

Thread = get_conversation_model()
from django.contrib.auth import get_user_model  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402
from django.utils import timezone  # noqa: E402
from fill import ours  # noqa: E402

BATCH = 5000
NOW = timezone.now()


def store(model: Any, rows: Iterator[Any]) -> list[Any]:
    stored: list[Any] = []
    while batch := list(islice(rows, BATCH)):
        stored += model.objects.bulk_create(batch)
    return stored


def fill_threads(user: Any, count: int) -> None:
    """Store threads with ten messages each."""
    scope = f"user:{user.pk}"

    def thread(number: int) -> Thread:
        at = NOW - timedelta(minutes=number)
        return Thread(thread_id=f"t{number}", scope=scope, owner=user, title=f"Title {number}", updated_at=at)

    threads = store(Thread, map(thread, range(count)))
    words = "what about the weather in the north of the country"
    store(
        Message,
        (
            Message(id=f"{row.pk}-{place}", thread=row, data="{}", words=f"{words} rain{row.thread_id}")
            for row in threads
            for place in range(10)
        ),
    )


def fill_runs(user: Any, count: int) -> None:
    """Store runs of 90 days, of which 30 are old enough to be deleted."""

    def run(number: int) -> Run:
        at = NOW - timedelta(days=90) * (number / count)
        of = {"scope": f"user:{user.pk}", "owner": user, "thread_id": f"t{number % 1000}", "run_id": str(number)}
        return Run(**of, status="finished", model="scripted", started_at=at, duration_ms=900, first_event_ms=90)

    store(Run, map(run, range(count)))


def milliseconds(ask: Callable[[], Any], repeat: int = 5) -> float:
    times = []
    for _ in range(repeat):
        started = time.perf_counter()
        ask()
        times.append((time.perf_counter() - started) * 1000)
    return median(times)


def main(share: float) -> dict[str, float]:
    user = get_user_model().objects.create_superuser("ada", "ada@example.com", "x")
    fill_threads(user, int(10_000 * share))
    asyncio.run(ours(user, "long", int(5000 * share)))
    fill_runs(user, int(1_000_000 * share))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    client = Client(SERVER_NAME="127.0.0.1")
    bearer = {"Authorization": f"Bearer {create_token(user)[1]}"}

    def get(path: str) -> None:
        response = client.get(path, headers=bearer)
        if response.status_code != 200:
            sys.exit(f"GET {path}: {response.status_code}")

    figures = {}
    for name, path in {
        "the list of threads": "/agent/threads/",
        "a search for a rare word": f"/agent/threads/?q=raint{int(9000 * share)}",
        "a search for a frequent word": "/agent/threads/?q=weather",
        "a search without a match": "/agent/threads/?q=snow",
        "a long thread, read whole": "/agent/threads/long/",
    }.items():
        figures[name] = milliseconds(lambda path=path: get(path))
    figures["the dashboard, first count"] = milliseconds(roll_up, 1)
    client.force_login(user)
    figures["the dashboard"] = milliseconds(lambda: get("/admin/agui_dashboard/runspan/"))
    figures["the list of runs in the admin"] = milliseconds(lambda: get("/admin/agui/run/"))
    figures["pruning a third of the runs"] = milliseconds(lambda: call_command("prune_agent_data", runs=60), 1)
    return figures


if __name__ == "__main__":
    print(json.dumps(main(float(sys.argv[1]))))
