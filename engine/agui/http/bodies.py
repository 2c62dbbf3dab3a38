"""The body of a request: bytes up to a limit, read and parsed."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from agui import conf
from agui.blocking.executor import run_in_thread
from agui.errors import BadRequest, TooLarge, UnsupportedMediaType
from agui.protocol.run_input import parse_run_input
from agui.protocol.strict_json import parse_json
from agui.protocol.types import RunAgentInput
from agui.sentences import fill_lazy

R = TypeVar("R")

MAX_OBJECT_BYTES = 16 * 1024
# A body of this size is parsed in a thread.
LARGE_BYTES = 16_000


def read_body(request: HttpRequest, limit: int) -> bytes:
    """Read a body of at most `limit` bytes. Raises TooLarge."""
    # Don't use `request.body`: Django's limit is for forms, and too small for conversations.
    body = request.read(limit + 1)
    if len(body) > limit:
        raise TooLarge(
            fill_lazy(_("The request is too large: at most {limit} bytes."), limit=limit)
        )
    return body


def read_object(request: HttpRequest) -> dict[str, Any]:
    """Read a small body that is a JSON object or empty. Raises BadRequest."""
    body = request.read(MAX_OBJECT_BYTES + 1)
    if not body.strip():
        return {}
    payload = parse_json(body)
    if not isinstance(payload, dict):
        raise BadRequest("The body is not a JSON object.")
    return payload


async def read_run_input(request: HttpRequest) -> tuple[RunAgentInput, str]:
    """Read the body. Returns its RunAgentInput and its fingerprint, which equal requests share.

    Raises UnsupportedMediaType, TooLarge, BadRequest and Unprocessable, none of which repeats the
    body.
    """
    # Another site's page can send text/plain without a preflight request, but not application/json.
    if request.content_type != "application/json":
        raise UnsupportedMediaType
    body = read_body(request, conf.get().max_body_bytes)
    # A few bytes with `$ref` can stand for many values.
    return await parsed(parse_run_input, body, is_large=b"$ref" in body)


async def parsed(parse: Callable[..., R], body: bytes, *args: Any, is_large: bool = False) -> R:
    """Parse a body: a large one in a thread, because the streams of other users must not wait."""
    if len(body) < LARGE_BYTES and not is_large:
        return parse(body, *args)
    return await run_in_thread(parse, body, *args, pool="reading")
