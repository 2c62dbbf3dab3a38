"""Failures of an answer: it can't be read, was refused, or is not whole."""

import logging
import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import Any

import httpx2
from pydantic_ai.exceptions import AgentRunError, ModelAPIError, UnexpectedModelBehavior, UserError
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model

from agui import conf
from agui.errors import RunFailed

logger = logging.getLogger("agui.runs")


@contextmanager
def failures_of(model: Model) -> Iterator[None]:
    """Raise what a provider sends, and its reader can't read, as a failure of the model."""
    try:
        yield
    except (AgentRunError, UserError, RunFailed):
        raise
    except Exception as error:
        # A model without an address is code of the project, and its mistakes are the server's.
        if model.base_url is None:
            raise
        words = f"{type(error).__name__}: {error}"
        if isinstance(error, httpx2.TransportError | OSError):
            raise ModelAPIError(model.model_name, words) from error
        logger.warning("Reading the response of %s failed", model.model_name, exc_info=True)
        raise UnreadableAnswer(f"Can't read the answer: {words}") from error


class UnreadableAnswer(UnexpectedModelBehavior):
    """A provider has sent something that its reader does not know."""


def watch_responses(model: Any) -> None:
    """Let a model's HTTP client refuse responses without an end, and errors that look like none."""
    client = getattr(model, "client", None)
    google = getattr(client, "_api_client", None)
    http: Any
    for http in (getattr(client, "_client", None), getattr(google, "_async_httpx_client", None)):
        hooks = getattr(http, "event_hooks", None)
        if hooks and limit_size not in hooks["response"]:
            http.event_hooks = {**hooks, "response": [*hooks["response"], limit_size, find_error]}


async def limit_size(response: Any) -> None:
    """Stop a response that becomes too large while it is read: a line of it may be an image."""
    for kind in type(response.stream).__mro__:
        if kind.__name__ == "AsyncByteStream":
            response.stream = type("Bounded", (BoundedStream, kind), {})(response.stream)
            return


class BoundedStream:
    """The bytes of a response, up to AGUI["MAX_RESPONSE_BYTES"]."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        limit = conf.get().max_response_bytes
        async for chunk in self.stream:
            limit -= len(chunk)
            if limit < 0:
                raise RunFailed("output_limit")
            yield chunk

    async def aclose(self) -> None:
        await self.stream.aclose()


async def find_error(response: Any) -> None:
    """Give an error the status of one. `response` is httpx2's or httpx's."""
    is_json = response.headers.get("content-type", "").startswith("application/json")
    is_stream = re.search(rb'"stream": ?true', getattr(response.request, "_content", b""))
    if response.status_code == HTTPStatus.OK and is_json and is_stream:
        await response.aread()
        with suppress(ValueError):
            error = code = response.json()
            if isinstance(error, dict):
                error = code = error.get("error")
            if isinstance(error, dict):
                code = error.get("code")
            if isinstance(code, int) and HTTPStatus.BAD_REQUEST <= code < 600:
                response.status_code = code
            elif error:
                response.status_code = HTTPStatus.BAD_REQUEST


def is_refusal(response: ModelResponse) -> bool:
    """Whether a model has answered with nothing but the words of a refusal."""
    words = (response.provider_details or {}).get("refusal")
    return bool(words) and response.text == words


def reason_of_cut(response: ModelResponse) -> str:
    """Say why an answer is not whole; '' if it is."""
    details = response.provider_details or {}
    if details.get("finish_reason") == "model_context_window_exceeded":
        return "context_window"
    if response.finish_reason in ("length", "content_filter", "error"):
        return response.finish_reason
    if response.state == "incomplete":
        return "incomplete"
    return ""
