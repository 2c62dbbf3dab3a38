"""The messages of a conversation as a tree, in pure functions.

A line leads from a message along the parents to the first message.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic_ai.conversation_store import ConversationEntry
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolReturnPart,
    UserPromptPart,
)

from agui.stores.annotations import annotation, answered


class Link(NamedTuple):
    """A message's place in the tree."""

    id: str
    parent_id: str | None
    prompt_id: str
    """The client's id of the message if it is the user's, otherwise ''."""


def prompt_id(message: ModelMessage) -> str:
    """Read the client's id of a message of the user; '' for other messages."""
    kinds = {type(part) for part in message.parts}
    # A prompt part beside a tool's result holds content that the tool has returned.
    if UserPromptPart in kinds and ToolReturnPart not in kinds:
        return next(iter(annotation(message, "ids") or ()), "")
    return ""


def results_first(messages: Iterable[ModelMessage]) -> Iterator[ModelMessage]:
    """Put the results of calls before what the user said beside the answers to their questions."""
    prompts: list[ModelMessage] = []
    for message in messages:
        if prompt_id(message):
            prompts.append(message)
            continue
        if isinstance(message, ModelResponse):
            yield from prompts
            prompts = []
        yield message
    yield from prompts


def results_beside(messages: Sequence[ModelMessage], message_id: str) -> list[ModelMessage]:
    """List the results of the answers that came with a message of the user.

    They follow it, and the other messages that came with it.
    """
    results: list[ModelMessage] = []
    is_after = False
    for message in messages:
        if prompt_id(message) == message_id:
            is_after = True
        elif is_after and _has_only_results(message):
            results.append(message)
        elif is_after and (results or not prompt_id(message)):
            break
    return results


def walk_line(links: Mapping[str, Link], end: str | None) -> Iterator[Link]:
    """Walk a line from its end."""
    while end is not None:
        yield links[end]
        end = links[end].parent_id


def find_versions(
    links: Mapping[str, Link], ends: Sequence[str]
) -> dict[str | None, dict[str, str]]:
    """Find the user's messages on these lines, by their parent, each with the end of its line.

    A message on several lines gets the end that comes first in `ends`.
    """
    versions: dict[str | None, dict[str, str]] = {}
    for end in ends:
        for link in walk_line(links, end):
            if not link.prompt_id:
                continue
            siblings = versions.setdefault(link.parent_id, {})
            if siblings.setdefault(link.id, end) != end:
                break
    return versions


def index_of(entries: Sequence[ConversationEntry], message_id: str) -> int:
    """Find a message by the client's id; -1 if there is no such message."""
    for index, entry in enumerate(entries):
        if message_id in (annotation(entry.message, "ids") or ()):
            return index
    return -1


def find_settled(entries: Sequence[ConversationEntry], index: int) -> int:
    """Find the entry closest to `index` at which no tool call is open.

    That is the last of the calls' results, or the entry before the calls if there are none.
    """
    messages = [entry.message for entry in entries]
    call = index
    while call > 0 and _has_only_results(messages[call]):
        call -= 1
    response = messages[call]
    open_calls: set[str] = set()
    if isinstance(response, ModelResponse):
        open_calls = {part.tool_call_id for part in response.tool_calls}
    for end in range(call, len(messages)):
        if end > call and not _has_only_results(messages[end]):
            break
        open_calls -= answered([messages[end]])
        if end >= index and not open_calls:
            return end
    return call - 1


def _has_only_results(message: ModelMessage) -> bool:
    if not isinstance(message, ModelRequest) or prompt_id(message):
        return False
    return bool(answered([message]))
