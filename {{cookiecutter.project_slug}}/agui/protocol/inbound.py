"""A client's messages as the model's, without what a client may not decide."""

import base64
import json
import logging
import re
from collections import defaultdict, deque
from collections.abc import Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ag_ui.core import (
    AssistantMessage,
    FunctionCall,
    Message,
    ResumeEntry,
    RunAgentInput,
    ToolCall,
    ToolMessage,
)
from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.ui.ag_ui import AGUIAdapter

from agui import conf
from agui.agents.skills import SkillRegistry
from agui.blocking.executor import run_in_thread
from agui.errors import Unprocessable
from agui.protocol.interrupts import READER, Open, frontend_calls, open_interrupts
from agui.protocol.message_ids import MessageIds
from agui.stores.annotations import annotation

logger = logging.getLogger("agui.runs")

FEW_MESSAGES = 10
# What is not said by anybody in the conversation, but about how to lead it.
INSTRUCTING_ROLES = ("system", "developer")


def instructing(messages: Sequence[Message]) -> list[Message]:
    """Take a client's system and developer messages: they are no part of the conversation."""
    return [message for message in messages if message.role in INSTRUCTING_ROLES]


def run_instructions(run_input: RunAgentInput, skills: SkillRegistry, text: str) -> list[str]:
    """What the model is told in this run besides: by the client, and the words that the user's `/name` stands for.

    Of those, the conversation keeps what was typed.
    """
    words = skills.resolve(text)
    return [*_client_instructions(run_input), *([words] if words != text else ())]


def _client_instructions(run_input: RunAgentInput) -> list[str]:
    """What a client wants the model to be told. By default it may not say that, and the log has a line."""
    messages = instructing(run_input.messages)
    if not messages:
        return []
    if conf.get().client_instructions == "drop":
        logger.info(
            "%d system or developer messages of the client are dropped in run %s: AGUI['CLIENT_INSTRUCTIONS'] = 'use' "
            "makes them instructions.",
            len(messages),
            run_input.run_id,
        )
        return []
    return [str(message.content) for message in messages if message.content]


async def load_aside(messages: Sequence[Message], run_input: RunAgentInput) -> list[ModelMessage]:
    """Load messages, in a thread if that takes long: others' streams don't wait for it."""
    if len(messages) <= FEW_MESSAGES and all(
        isinstance(message.content, str) for message in messages
    ):
        return _load(messages, run_input)
    return await run_in_thread(_load, messages, run_input, pool="reading")


def _load(messages: Sequence[Message], run_input: RunAgentInput) -> list[ModelMessage]:
    """Turn a client's messages into the model's, without what a client may not decide."""
    check_attachments(messages)
    try:
        # Empty ones would leave their ids to the next.
        messages = [m for m in messages if m.role == "tool" or AGUIAdapter.load_messages([m])]
        if not messages:
            return []
        schemes = frozenset(conf.get().allowed_file_url_schemes)
        reader = AGUIAdapter(READER, run_input, allowed_file_url_schemes=schemes)
        loaded = _one_prompt_each(reader.sanitize_messages(_read(messages)))
    except ValueError:
        raise Unprocessable(
            "A message can't be read: a result without its call, or a broken attachment."
        ) from None
    if not loaded or not isinstance(loaded[-1], ModelRequest):
        raise Unprocessable("The messages have to end with one of the user.")
    MessageIds(messages).stamp(loaded)
    return loaded


def load_results(messages: Sequence[Message], conversation: Conversation) -> list[ModelMessage]:
    """Take the results of those calls that the thread left to the client; the rest is not the client's to say."""
    open_calls = frontend_calls(conversation.deferred_tool_requests)
    fitting = _fitting(messages, open_calls, conversation)
    if not fitting:
        return []
    check_attachments(fitting.values())
    loaded = _read(
        with_calls(list(fitting.values()), [open_calls[call_id] for call_id in fitting])
    )[1:]
    MessageIds(fitting.values()).stamp(loaded)
    return loaded


def answer_deferred(run_input: RunAgentInput, conversation: Conversation) -> RunAgentInput:
    """Take a tool message for a call that one of our tools has deferred as the answer to its interrupt.

    An approval and a question need a resume, and where there is one, it is what counts.
    """
    requests = conversation.deferred_tool_requests
    deferred = {
        one.call.tool_call_id: one
        for one in open_interrupts(requests)
        if requests and requests.kind(one.call.tool_call_id) == "external"
    }
    given = {entry.interrupt_id for entry in run_input.resume or ()}
    entries = [
        ResumeEntry(
            interrupt_id=deferred[call_id].id,
            status="resolved",
            payload=_payload(message, deferred[call_id]),
        )
        for call_id, message in (
            _fitting(run_input.messages, deferred, conversation) if deferred else {}
        ).items()
        if deferred[call_id].id not in given
    ]
    return (
        run_input.model_copy(update={"resume": [*(run_input.resume or ()), *entries]})
        if entries
        else run_input
    )


def _payload(message: ToolMessage, call: Open) -> Any:
    text = _only_text(message.content)
    if text is None:
        raise Unprocessable("The result of a deferred call has to be a text.")
    if call.schema is not None:
        with suppress(ValueError):
            return json.loads(text)
    return text


def _fitting(
    messages: Sequence[Message], open_calls: Container[str], conversation: Conversation
) -> dict[str, ToolMessage]:
    """Find the results of the open calls. Some providers use a call's id again: then there are older ones, too."""
    known = {
        message_id
        for message in conversation.messages
        for message_id in annotation(message, "ids") or ()
    }
    fitting: dict[str, ToolMessage] = {}
    called: set[str] = set()
    for message in messages:
        if isinstance(message, AssistantMessage):
            for call in message.tool_calls or ():
                called.add(call.id)
                fitting.pop(call.id, None)  # What came before is the result of an earlier call
        elif isinstance(message, ToolMessage) and (
            message.tool_call_id in called or message.id not in known
        ):
            fitting[message.tool_call_id] = message
    return {call_id: message for call_id, message in fitting.items() if call_id in open_calls}


def _read(messages: Sequence[Message]) -> list[ModelMessage]:
    """Read messages as the adapter does, but a tool's result stays the text that it is.

    The adapter would parse it as JSON, and take what looks like a file of the server for one.
    """
    texts: dict[str, deque[str]] = defaultdict(deque)
    plain = []
    for message in messages:
        if isinstance(message, ToolMessage) and (text := _only_text(message.content)) is not None:
            texts[message.tool_call_id].append(text)
            message = message.model_copy(update={"content": ""})
        elif isinstance(message.content, list):
            message = message.model_copy(
                update={"content": [_without_orders(part) for part in message.content]}
            )
        plain.append(message)
    loaded = AGUIAdapter.load_messages(plain)
    for part in [part for one in loaded for part in one.parts if isinstance(part, ToolReturnPart)]:
        if texts[part.tool_call_id]:
            part.content = texts[part.tool_call_id].popleft()
    return loaded


def _without_orders(part: Any) -> Any:
    """The part without the word that makes the server download its file, even from the server's own network."""
    metadata = getattr(part, "metadata", None)
    if not isinstance(metadata, dict) or "force_download" not in metadata:
        return part
    logger.info(
        "A client's force_download is dropped: the server fetches no file because a client says so."
    )
    return part.model_copy(
        update={"metadata": {k: v for k, v in metadata.items() if k != "force_download"}}
    )


def _one_prompt_each(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Take apart what pydantic-ai has joined: the history can be cut before each message of the user."""
    separate: list[ModelMessage] = []
    for message in messages:
        prompts = [part for part in message.parts if isinstance(part, UserPromptPart)]
        if isinstance(message, ModelRequest) and prompts and len(message.parts) > 1:
            if results := [part for part in message.parts if not isinstance(part, UserPromptPart)]:
                separate.append(replace(message, parts=results))
            separate += [replace(message, parts=[prompt]) for prompt in prompts]
        else:
            separate.append(message)
    return separate


def _only_text(content: Any) -> str | None:
    """The text of a content that is nothing else: itself, or its only part."""
    if isinstance(content, list):
        return content[0].text if len(content) == 1 and content[0].type == "text" else None
    return content if isinstance(content, str) else None


def check_attachments(messages: Iterable[Message]) -> None:
    """Refuse what nobody can read, or what only the server could: files of its disk, its buckets, its provider."""
    for message in messages:
        content = getattr(message, "content", None)
        for part in content if isinstance(content, list) else ():
            if not _is_readable(getattr(part, "source", None)):
                schemes = ", ".join(conf.get().allowed_file_url_schemes)
                urls = f", or as a URL ({schemes})" if schemes else ""
                raise Unprocessable(f"An attachment can't be used: send it as base64 data{urls}.")


def _is_readable(source: Any) -> bool:
    if source is None:
        return True  # Text
    if source.type == "data":
        try:
            return bool(base64.b64decode(source.value, validate=True))
        except ValueError:
            return False
    scheme = re.match(r"(.*?)://[^/]", source.value)
    return (
        source.type == "url"
        and scheme is not None
        and scheme[1].lower() in conf.get().allowed_file_url_schemes
    )


def with_calls(
    tool_messages: Sequence[ToolMessage], calls: Iterable[ToolCallPart]
) -> list[Message]:
    """Put the stored calls before their results: a result alone does not say which tool it is from."""
    tool_calls = [
        ToolCall(
            id=call.tool_call_id,
            function=FunctionCall(name=call.tool_name, arguments=call.args_as_json_str()),
        )
        for call in calls
    ]
    return [AssistantMessage(id="calls", tool_calls=tool_calls), *tool_messages]
