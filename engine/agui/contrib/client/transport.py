"""A remote AG-UI agent over HTTP: a run as events, which survives broken connections."""

import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    aclosing,
    asynccontextmanager,
    nullcontext,
    suppress,
)
from functools import cache
from ssl import SSLContext
from typing import Any
from urllib.parse import quote, urlencode

import anyio
import httpx2
from ag_ui.core import BaseEvent, RunAgentInput

from agui.contrib.client.errors import (
    AGUIConnectionError,
    AGUIError,
    AGUIProtocolError,
    AGUIStatusError,
)
from agui.contrib.client.reading import Reading

logger = logging.getLogger("agui.client")

CONNECT_SECONDS = 10.0
STOP_SECONDS = 5.0
MAX_EVENT_BYTES = 64 * 1024 * 1024
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.5, 30.0
TRY_AGAIN = (429, 502, 503, 504)


class AGUIClient:
    """Speaks AG-UI 1.0 with one endpoint. It keeps nothing between two calls.

        client = AGUIClient("https://example.com/agent/", headers={"Authorization": "Bearer ..."})
        run_input = RunAgentInput(thread_id="t", run_id="r", messages=[...])
        async with aclosing(client.run(run_input)) as events:
            async for event in events:
                ...

    `timeout_seconds` is the longest silence. `retries` is how often a request is sent again before
    its first event, and how often a broken stream is resumed. `http` replaces the connections that
    each call opens otherwise.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        timeout_seconds: float = 120.0,
        retries: int = 2,
        http: httpx2.AsyncClient | None = None,
    ) -> None:
        self.url = url
        # A query may hold a key, so names and messages leave it out.
        self.name = url.partition("?")[0]
        self.headers = dict(headers or {})
        self.timeout = httpx2.Timeout(
            timeout_seconds, connect=min(CONNECT_SECONDS, timeout_seconds)
        )
        self.retries = retries
        self.http = http

    def run(self, run_input: RunAgentInput) -> AsyncGenerator[BaseEvent]:
        """Start a run and yield its events, of `ag_ui.core`, until RUN_FINISHED or RUN_ERROR.

        Unknown events are left out, and *_CHUNK events come as those that they abbreviate. Leaving
        early only closes the connection: `cancel` stops a run that outlives it. Raises
        AGUIStatusError, AGUIConnectionError and AGUIProtocolError.
        """
        return self._read(run_input.thread_id, run_input)

    def follow(self, thread_id: str) -> AsyncGenerator[BaseEvent]:
        """Yield the events of a thread's active or last run from its beginning, as `run` does.

        Yields nothing if the server keeps no run of the thread.
        """
        return self._read(thread_id, None)

    async def _read(
        self, thread_id: str, run_input: RunAgentInput | None
    ) -> AsyncGenerator[BaseEvent]:
        reading = Reading(self.name)
        failures = 0
        error: Exception | None
        while not reading.ended:
            try:
                async with self._open(thread_id, run_input, reading) as frames:
                    if frames is None:
                        return
                    async for frame in frames:
                        for event in reading.read(frame):
                            failures = 0
                            yield event
                        if reading.ended:
                            await reading.expect_nothing(frames)
                            return
                error, wait_seconds = None, 0.0
            except httpx2.RequestError as lost:
                error, wait_seconds = lost, 0.0
            except AGUIStatusError as refused:
                if refused.status not in TRY_AGAIN or failures >= self.retries:
                    raise
                error, wait_seconds = refused, refused.retry_after or 0.0
            failures += 1
            if failures > self.retries or not reading.may_retry(error):
                raise self._lost(error) from error
            wait_seconds = wait_seconds or FIRST_WAIT_SECONDS * 2 ** (failures - 1)
            wait_seconds = min(wait_seconds, LONGEST_WAIT_SECONDS)
            logger.info(
                "Retrying %s in %s s (%s of %s): %s",
                self.name,
                wait_seconds,
                failures,
                self.retries,
                error or "the stream ended before the run",
            )
            await anyio.sleep(wait_seconds)

    async def cancel(self, thread_id: str, run_id: str | None = None) -> bool:
        """Stop the run of a thread, or only the run with this id, if the server can do that.

        Return whether there was one.
        """
        route = f"threads/{quote(thread_id, safe='')}/cancel/"
        body = {} if run_id is None else {"run_id": run_id}
        response = await self._fetch("POST", route, missing_is_fine=True, body=body)
        return response.status_code == 202

    async def stop(self, thread_id: str, run_id: str) -> None:
        """Try to cancel a run for a few seconds."""
        with anyio.move_on_after(STOP_SECONDS), suppress(AGUIError):
            await self.cancel(thread_id, run_id)

    async def threads(self, search: str = "") -> list[dict[str, Any]]:
        """List the user's newest threads, with `thread_id`, `title`, `preview` and `updated_at`."""
        route = f"threads/?q={quote(search)}" if search else "threads/"
        response = await self._fetch("GET", route)
        rows: list[dict[str, Any]] = self._json(response)["threads"]
        return rows

    async def thread(self, thread_id: str) -> dict[str, Any]:
        """Read a thread: `messages`, `state`, `pending` interrupts, and whether it is `running`."""
        response = await self._fetch("GET", f"threads/{quote(thread_id, safe='')}/")
        return self._json(response)

    async def capabilities(self) -> dict[str, Any]:
        """Read what the agent can do: AG-UI's AgentCapabilities."""
        return self._json(await self._fetch("GET", "capabilities/"))

    async def queue(self, method: str, thread_id: str, body: Any = None) -> dict[str, Any]:
        """Send a request about the messages of a thread that wait, as this project's servers take.

        queue.md of the manual has them. `body` is the query of a DELETE, whose answer is empty.
        """
        route = f"threads/{quote(thread_id, safe='')}/messages/"
        if method != "DELETE":
            return self._json(await self._fetch(method, route, body=body))
        await self._fetch(method, f"{route}?{urlencode(body)}")
        return {}

    def address(self, route: str) -> str:
        """Return the URL of a route below the endpoint's."""
        path, mark, query = self.url.partition("?")
        if "?" in route and mark:
            mark = "&"
        return f"{path.rstrip('/')}/{route}{mark}{query}"

    @asynccontextmanager
    async def _open(
        self, thread_id: str, run_input: RunAgentInput | None, reading: Reading
    ) -> AsyncIterator[AsyncGenerator[httpx2.ServerSentEvent] | None]:
        headers = {**self.headers, "Accept": "text/event-stream"}
        if run_input is None or reading.started:
            route = f"threads/{quote(thread_id, safe='')}/events/"
            request: dict[str, Any] = {"method": "GET", "url": self.address(route)}
            if reading.started:
                headers["Last-Event-ID"] = reading.last_id
        else:
            body = run_input.model_dump_json(by_alias=True, exclude_none=True)
            request = {"method": "POST", "url": self.url, "content": body}
            headers["Content-Type"] = "application/json"
        async with (
            self._session() as http,
            http.stream(**request, headers=headers, timeout=self.timeout) as response,
        ):
            if response.status_code == 204 and run_input is None:
                yield None
                return
            if response.status_code != 200:
                await response.aread()
                raise _refusal(response)
            source = httpx2.EventSource(response, MAX_EVENT_BYTES)
            frames: Any = aiter(source)  # Its type does not say that it is a generator.
            async with aclosing(frames):
                yield frames

    async def _fetch(
        self, method: str, route: str, *, missing_is_fine: bool = False, body: Any = None
    ) -> httpx2.Response:
        url = self.address(route)
        try:
            async with self._session() as http:
                response = await http.request(
                    method, url, headers=self.headers, timeout=self.timeout, json=body
                )
        except httpx2.RequestError as error:
            raise self._lost(error) from error
        if response.is_success or (missing_is_fine and response.status_code in (404, 405)):
            return response
        raise _refusal(response)

    def _json(self, response: httpx2.Response) -> dict[str, Any]:
        try:
            body: dict[str, Any] = response.json()
        except ValueError as error:
            message = f"{self.name} answers requests for threads with something else."
            raise AGUIProtocolError(self.name, message, "protocol") from error
        return body

    def _session(self) -> AbstractAsyncContextManager[httpx2.AsyncClient]:
        if self.http:
            return nullcontext(self.http)
        return httpx2.AsyncClient(verify=_certificates())

    def _lost(self, error: Exception | None) -> AGUIConnectionError:
        message, code = f"{self.name} can't be read: {error!r}", "connection_lost"
        if isinstance(error, httpx2.TimeoutException):
            message, code = f"{self.name} was silent for too long.", "timeout"
        if error is None:
            message, code = f"{self.name} ended its stream before the run.", "incomplete_stream"
        return AGUIConnectionError(self.name, message, code)


def _refusal(response: httpx2.Response) -> AGUIStatusError:
    try:
        body = json.loads(response.content)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        body = {}
    message = body.get("message") or body.get("detail")
    message = message or response.text[:200] or response.reason_phrase
    wait = response.headers.get("Retry-After", "")
    return AGUIStatusError(
        str(response.request.url).partition("?")[0],
        response.status_code,
        str(message),
        str(body.get("error", "")),
        retry_after=float(wait) if wait.isdecimal() else None,
    )


@cache
def _certificates() -> SSLContext:
    return httpx2.create_ssl_context()
