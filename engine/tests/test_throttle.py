"""How often somebody may ask for a run: never above the limit. (transcripts/rates.yaml has who shares a rate.)"""

import asyncio
import itertools
from typing import Any

import pytest
from django.core.cache import cache, caches
from django.core.checks import run_checks
from django.test import AsyncClient

from agui.http import throttle
from agui.testing import collect, say
from tests.conftest import Client, run_input, script


@pytest.fixture(autouse=True)
def empty_cache() -> None:
    cache.clear()


async def ask(client: Client, number: int = 0, **body: Any) -> Any:
    response = await client.post(run_input("Hi", thread=f"t{number}", **body))
    if response.status_code == 200:
        await collect(response)
    return response


async def statuses(client: Client, count: int) -> list[int]:
    return [(await ask(client, number)).status_code for number in range(count)]


async def test_above_the_rate_a_request_is_refused_and_told_when_to_come_back(client: Client, settings, clock):
    settings.AGUI = {"THROTTLE": {"USER": "2/minute"}}
    with script(*itertools.repeat(say("Hi"), 5)):
        assert await statuses(client, 2) == [200, 200]
        clock.advance(29)
        refused = await ask(client)
        assert (refused.status_code, refused.json()["error"]) == (429, "too_many_requests")
        seconds = int(refused["Retry-After"])
        clock.advance(seconds - 0.01 - 6)  # A slot before
        assert (await ask(client)).status_code == 429
        clock.advance(6.01)
        # The refused ones took nothing: both places are free again.
        assert await statuses(client, 3) == [200, 200, 429]


def test_no_window_of_time_has_more_than_the_limit(clock):
    granted: list[float] = []
    window = throttle.Window.from_rate("user", "one", "7/minute")
    for _ in range(3000):
        if not (seconds := window.take(clock.time())):
            granted.append(clock.time())
        else:
            assert seconds >= 1
        clock.advance(0.37)
    assert len(granted) > 7 * 15
    assert min(late - early for early, late in zip(granted, granted[7:], strict=False)) >= 60


def test_the_time_to_wait_is_enough_and_no_longer_than_the_window(clock):
    window = throttle.Window.from_rate("user", "one", "3/hour")
    for _ in range(3):
        assert window.take(clock.time()) == 0
        clock.advance(700)
    seconds = window.take(clock.time())
    assert 0 < seconds <= 3600 + 360
    assert window.take(clock.time() + seconds) == 0


async def test_of_many_at_once_no_more_get_through(client: Client, settings):
    settings.AGUI = {"THROTTLE": {"USER": "3/day"}, "MAX_RUNS_PER_USER": 50}
    with script(*itertools.repeat(say("Hi"), 20)):
        responses = await asyncio.gather(*(ask(client, number) for number in range(20)))
    assert sorted(response.status_code for response in responses) == [200] * 3 + [429] * 17


async def test_a_session_counts_as_its_user(client: Client, settings):
    settings.AGUI = {"THROTTLE": {"USER": "2/day", "TOKEN": "1/day"}}
    browser = Client(None)
    await browser.http.aforce_login(client.user)
    with script(*itertools.repeat(say("Hi"), 5)):
        assert await statuses(browser, 2) == [200, 200]
        assert await statuses(client, 1) == [429]


async def test_what_is_refused_before_takes_nothing(client: Client, settings):
    settings.AGUI = {"THROTTLE": {"USER": "1/day"}, "MAX_BODY_BYTES": 2000}
    stranger = Client(None)
    stranger.http.defaults["authorization"] = "Bearer agt_nobody"  # type: ignore[typeddict-unknown-key]
    assert await statuses(stranger, 3) == [401, 401, 401]
    assert (await client.http.get("/agent/")).status_code == 405
    # A page of another site posts what the browser's cookie signs.
    browser = AsyncClient(enforce_csrf_checks=True)
    await browser.aforce_login(client.user)
    for _ in range(2):
        assert (await browser.post("/agent/", "{}", content_type="text/plain")).status_code == 403
    with script(say("Hi")):
        assert await statuses(client, 2) == [200, 429]


async def test_a_cache_out_of_reach_refuses_nobody(client: Client, settings, monkeypatch, caplog):
    def fails(*args: Any, **kwargs: Any) -> None:
        raise ConnectionError("no route to the cache")

    settings.AGUI = {"THROTTLE": {"USER": "1/day"}}
    monkeypatch.setattr(caches["default"], "add", fails)
    with script(*itertools.repeat(say("Hi"), 2)):
        assert await statuses(client, 2) == [200, 200]
    assert "no route to the cache" in caplog.text


async def test_tokens_are_not_written_into_the_cache(client: Client, settings):
    settings.AGUI = {"THROTTLE": {"USER": "5/day", "TOKEN": "5/day"}}
    with script(say("Hi")):
        assert await statuses(client, 1) == [200]
    kept = str(vars(caches["default"]))
    assert "agui:throttle:token" in kept
    token = client.http.defaults["authorization"].removeprefix("Bearer ")  # type: ignore[typeddict-item]
    assert token not in kept


@pytest.mark.django_db  # Django 6.1's own checks ask it
@pytest.mark.parametrize(("backend", "expected"), [("db.DatabaseCache", ["agui.E002"]), ("locmem.LocMemCache", [])])
def test_a_cache_that_can_not_count_is_named(settings, backend, expected):
    settings.CACHES = {"default": {"BACKEND": f"django.core.cache.backends.{backend}", "LOCATION": "counts"}}
    settings.AGUI = {"THROTTLE": {"USER": "5/minute"}}
    assert [message.id for message in run_checks() if message.id == "agui.E002"] == expected
