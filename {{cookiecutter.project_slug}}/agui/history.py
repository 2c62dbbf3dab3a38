"""What is new in this request, and what a run has added: the client's word on the past counts for nothing.

A known thread's history is the store's, and of the request only the new turn is read. An unknown
thread that arrives with a history is taken over once, sanitised, without honouring an approval.
The new turn is stored before the run begins, so that however the run ends, it is there.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_ai import DeferredToolResults, ToolApproved
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict, ConversationStore
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.ui.ag_ui import AGUIAdapter

from agui.agent import AgentConfig
from agui.auth import Actor
from agui.errors import Conflict, NotFound, RunFailed, Unprocessable
from agui.interrupts import READER, frontend_calls, read_answers
from agui.progress import to_json
from agui.protocol import (
    AssistantMessage,
    Message,
    MessageIds,
    RunAgentInput,
    ToolMessage,
    annotation,
    check_attachments,
    with_calls,
)
from agui.tools import ToolRegistry

# System and developer messages would be instructions, activities are the page's own.
TRUSTED_ROLES = ("user", "assistant", "tool", "reasoning")


@dataclass
class SharedState:
    """The state that a page and the agent share, at the start of a run."""

    value: Any
    """What the client sent, else what the thread's last turn left, else the agent's defaults."""
    client: Any
    """As the client has it. One that sends none has the defaults."""
    stored: Any
    """As the thread has it."""


@dataclass
class Turn:
    """What a run continues from."""

    store: ConversationStore
    conversation: Conversation
    """The whole stored conversation, the new turn included."""
    text: str
    """What the user wrote last, or ''."""
    state: SharedState
    answers: DeferredToolResults | None = None
    """The decisions on the calls that the thread waited for."""

    @property
    def edited_arguments(self) -> dict[str, Any]:
        """What the user put in the place of the model's arguments, by tool call id."""
        approvals = self.answers.approvals if self.answers else {}
        return {
            call_id: approval.override_args
            for call_id, approval in approvals.items()
            if isinstance(approval, ToolApproved) and approval.override_args is not None
        }


async def take_turn(
    store: ConversationStore, actor: Actor, run_input: RunAgentInput, registry: ToolRegistry, config: AgentConfig
) -> Turn:
    """Find what is new, and store it.

    Raises NotFound for somebody else's thread, Unprocessable for messages or a state that can't be
    used, Conflict when another writer was faster, and RunFailed for an answer that fits no question.
    """
    record = await store.read_record(run_input.thread_id)
    if record is not None and record.scope != actor.scope:
        raise NotFound("There is no such thread.")
    conversation = await store.load(run_input.thread_id, scope=actor.scope)
    if conversation is None:
        conversation = Conversation(conversation_id=run_input.thread_id)
        if run_input.resume:
            raise RunFailed("interrupt_unknown")
    state = _read_state(run_input, conversation, config)
    waiting = conversation.deferred_tool_requests
    answers = read_answers(run_input, waiting, registry)
    conversation, new = await _new_messages(store, actor, run_input, conversation)
    if answers is not None and not _answered(new) >= frontend_calls(waiting).keys():
        raise RunFailed("interrupt_pending")
    unanswered = conversation.messages and isinstance(conversation.messages[-1], ModelRequest)
    if not new and answers is None and not unanswered:
        raise Unprocessable("There is nothing new in this request: send a message of the user.")
    conversation.messages.extend(new)
    # Whatever was asked is answered or dropped now: an answer counts once, even if the run then dies.
    conversation.deferred_tool_requests = None
    try:
        await store.save(conversation, scope=actor.scope)
    except ConversationConflict:
        raise Conflict("The conversation was changed meanwhile. Reload it.") from None
    return Turn(store, conversation, _last_text(conversation.messages), state, answers)


async def _new_messages(
    store: ConversationStore, actor: Actor, run_input: RunAgentInput, conversation: Conversation
) -> tuple[Conversation, list[ModelMessage]]:
    """The messages to append, and the conversation to append them to: a branch of it after an edit."""
    messages = [message for message in run_input.messages if message.role in TRUSTED_ROLES]
    if conversation.revision is None:
        # An imported history may be long: others' streams don't wait for it.
        return conversation, await asyncio.to_thread(_load, messages, run_input)
    tail = messages[1 + max((i for i, m in enumerate(messages) if m.role == "assistant"), default=-1) :]
    results = _load_results(messages, conversation)
    if run_input.resume:
        return conversation, results
    prompts = [message for message in tail if message.role == "user"]
    known = _prompts(conversation)
    if prompts and prompts[-1].id in known and not results:
        # The last one again: that turn is edited or tried anew.
        new = await asyncio.to_thread(_load, prompts[-1:], run_input)
        return await _branch(store, actor, conversation, known[prompts[-1].id]), new
    # Known ones before a new one are the client's memory, of answers that it may never have seen.
    fresh = [message for message in prompts if message.id not in known]
    return conversation, [*results, *await asyncio.to_thread(_load, fresh, run_input)]


async def _branch(store: ConversationStore, actor: Actor, conversation: Conversation, at: int) -> Conversation:
    try:
        return await store.branch(
            conversation.conversation_id, at=at, expected_revision=conversation.revision, scope=actor.scope
        )
    except ConversationConflict:
        raise Conflict("The conversation was changed meanwhile. Reload it.") from None


def _load(messages: Sequence[Message], run_input: RunAgentInput) -> list[ModelMessage]:
    """Turn a client's messages into the model's, without what a client may not decide."""
    check_attachments(messages)
    try:
        # Empty ones would leave their ids to the next.
        messages = [m for m in messages if m.role == "tool" or AGUIAdapter.load_messages([m])]
        if not messages:
            return []
        loaded = _one_prompt_each(AGUIAdapter(READER, run_input).sanitize_messages(_read(messages)))
    except ValueError:
        raise Unprocessable("A message can't be read: a result without its call, or a broken attachment.") from None
    if not loaded or not isinstance(loaded[-1], ModelRequest):
        raise Unprocessable("The messages have to end with one of the user.")
    MessageIds(messages).stamp(loaded)
    return loaded


def _load_results(messages: Sequence[Message], conversation: Conversation) -> list[ModelMessage]:
    """Take the results of those calls that the thread left to the client; the rest is not the client's to say."""
    open_calls = frontend_calls(conversation.deferred_tool_requests)
    fitting = _fitting(messages, open_calls, conversation)
    if not fitting:
        return []
    check_attachments(fitting.values())
    loaded = _read(with_calls(list(fitting.values()), [open_calls[call_id] for call_id in fitting]))[1:]
    MessageIds(fitting.values()).stamp(loaded)
    return loaded


def _fitting(
    messages: Sequence[Message], open_calls: Container[str], conversation: Conversation
) -> dict[str, ToolMessage]:
    """Find the results of the open calls. Some providers use a call's id again: then there are older ones, too."""
    known = {message_id for message in conversation.messages for message_id in annotation(message, "ids") or ()}
    fitting: dict[str, ToolMessage] = {}
    called: set[str] = set()
    for message in messages:
        if isinstance(message, AssistantMessage):
            for call in message.tool_calls or ():
                called.add(call.id)
                fitting.pop(call.id, None)  # What came before is the result of an earlier call
        elif isinstance(message, ToolMessage) and (message.tool_call_id in called or message.id not in known):
            fitting[message.tool_call_id] = message
    return {call_id: message for call_id, message in fitting.items() if call_id in open_calls}


def _read(messages: Sequence[Message]) -> list[ModelMessage]:
    """Read messages as the adapter does, but a tool's result stays the text that it is.

    The adapter would parse it as JSON, and take what looks like a file of the server for one.
    """
    texts: dict[str, deque[str]] = defaultdict(deque)
    plain = []
    for message in messages:
        if isinstance(message, ToolMessage) and isinstance(message.content, str):
            texts[message.tool_call_id].append(message.content)
            message = message.model_copy(update={"content": ""})
        plain.append(message)
    loaded = AGUIAdapter.load_messages(plain)
    for part in [part for one in loaded for part in one.parts if isinstance(part, ToolReturnPart)]:
        if texts[part.tool_call_id]:
            part.content = texts[part.tool_call_id].popleft()
    return loaded


def _answered(messages: Sequence[ModelMessage]) -> set[str]:
    return {part.tool_call_id for message in messages for part in message.parts if isinstance(part, ToolReturnPart)}


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


def _prompts(conversation: Conversation) -> dict[str, int]:
    """Where each message of the user is in the history, by its id."""
    return {
        message_id: index
        for index, message in enumerate(conversation.messages)
        if any(isinstance(part, UserPromptPart) for part in message.parts)
        for message_id in annotation(message, "ids") or ()
    }


def _read_state(run_input: RunAgentInput, conversation: Conversation, config: AgentConfig) -> SharedState:
    sent = run_input.state or {}
    stored = next((s for m in reversed(conversation.messages) if (s := annotation(m, "state")) is not None), None)
    if config.state_type is None:
        sent = sent if isinstance(sent, dict) else {}
        return SharedState(sent or stored or {}, client=sent, stored=stored or {})
    default = config.state_type()
    try:
        value = config.state_type.model_validate(sent) if sent else _validated(stored, default)
    except ValidationError:
        raise Unprocessable("The state does not have the agent's form.") from None
    return SharedState(value, client=sent or to_json(default), stored=to_json(default) if stored is None else stored)


def _validated(stored: Any, default: BaseModel) -> BaseModel:
    try:
        return default if stored is None else type(default).model_validate(stored)
    except ValidationError:
        return default  # Of an older form of the agent: better forgotten than a thread that can't go on


def _last_text(messages: list[ModelMessage]) -> str:
    parts = [part for message in messages for part in message.parts if isinstance(part, UserPromptPart)]
    return parts[-1].content if parts and isinstance(parts[-1].content, str) else ""


def added(history: list[ModelMessage], captured: list[ModelMessage]) -> list[ModelMessage]:
    """What the run has added. Not by position: pydantic-ai merges requests that follow on each other."""
    responses = sum(isinstance(message, ModelResponse) for message in history)
    answered = _answered(history)
    new: list[ModelMessage] = []
    for message in captured:
        if isinstance(message, ModelResponse):
            responses -= 1
            if responses < 0:
                new.append(message)
        elif responses <= 0:
            results = [p for p in message.parts if isinstance(p, ToolReturnPart)]
            if fresh := [part for part in results if new or part.tool_call_id not in answered]:
                new.append(replace(message, parts=fresh))
    return new


def without_open_calls(messages: list[ModelMessage], started: set[str]) -> list[ModelMessage]:
    """Drop tool calls that never ran, half-streamed ones too. Of those that were begun, the model is told."""
    ran = started | _answered(messages)
    kept: list[ModelMessage] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            parts = [part for part in message.parts if not isinstance(part, ToolCallPart) or part.tool_call_id in ran]
            message = replace(message, parts=parts)
        if message.parts:
            kept.append(message)
    return kept
