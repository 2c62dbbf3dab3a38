"""Failures of an answer: it can't be read, was refused, or is not whole."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import Any

import httpx2
from pydantic_ai.exceptions import AgentRunError, ModelAPIError, UnexpectedModelBehavior, UserError
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model

logger = logging.getLogger("agui.runs")


@contextmanager
def failures_of(model: Model) -> Iterator[None]:
    """Raise what a provider sends, and its reader can't read, as a failure of the model."""
    try:
        yield
    except (AgentRunError, UserError):
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


def refuse_errors_in_json(model: Any) -> None:
    """Let a model's HTTP client read what some gateways answer to a stream: 200, and an error."""
    http: Any = getattr(getattr(model, "client", None), "_client", None)
    hooks = getattr(http, "event_hooks", None)
    if hooks and find_error not in hooks["response"]:
        http.event_hooks = {**hooks, "response": [*hooks["response"], find_error]}


async def find_error(response: Any) -> None:
    """Give an error the status of one. `response` is httpx2's or httpx's."""
    is_json = response.headers.get("content-type", "").startswith("application/json")
    is_stream = re.search(rb'"stream": ?true', getattr(response.request, "_content", b""))
    if response.status_code == HTTPStatus.OK and is_json and is_stream:
        await response.aread()
        with suppress(ValueError, TypeError, KeyError):
            code = response.json()["error"].get("code")
            is_status = isinstance(code, int) and HTTPStatus.BAD_REQUEST <= code < 600
            response.status_code = code if is_status else HTTPStatus.BAD_REQUEST


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
