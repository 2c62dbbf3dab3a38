"""What a request adds to its thread: answers to open questions, results of calls, and messages."""

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
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
from pydantic_ai import DeferredToolRequests, DeferredToolResults
from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import ModelMessage, ToolCallPart

from agui.blocking.executor import run_in_thread
from agui.errors import RunFailed, Unprocessable
from agui.protocol.answers import read_answers
from agui.protocol.files import check_files
from agui.protocol.inbound import only_text, read
from agui.protocol.interrupts import OpenInterrupt, frontend_calls, open_interrupts
from agui.protocol.message_ids import MessageIds
from agui.stores.annotations import annotation
from agui.tools.registry import ToolRegistry

# The server ignores system and developer messages, which would be instructions, and activities,
# which only pages use.
TRUSTED_ROLES = ("user", "assistant", "tool", "reasoning")


@dataclass
class NewTurn:
    """A request, read beside the thread that it continues."""

    answers: DeferredToolResults | None
    """The answers to the questions for which the thread waits."""
    results: list[ModelMessage]
    """The results of the calls that the thread left to the client."""
    messages: list[Message]
    """The client's view of the thread."""
    prompts: list[Message]
    """The user's messages that follow the last answer in it."""


async def read_turn(
    run_input: RunAgentInput, conversation: Conversation, registry: ToolRegistry
) -> NewTurn:
    """Read what a request says to a thread, whatever it claims about the past.

    Raises RunFailed for answers that fit no question, or not all that are open, and for missing
    results; Unprocessable for results that can't be read.
    """
    requests = conversation.deferred_tool_requests
    messages = [message for message in run_input.messages if message.role in TRUSTED_ROLES]
    left, deferred = frontend_calls(requests), _deferred_calls(requests)
    sent = _results_of({*left, *deferred}, messages, conversation)
    resume = [*(run_input.resume or ())]
    answered = {entry.interrupt_id for entry in resume}
    for call_id, interrupt in deferred.items():
        # A resume counts more than a tool message.
        if call_id in sent and interrupt.id not in answered:
            payload = _payload(sent[call_id], interrupt)
            resume.append(
                ResumeEntry(interrupt_id=interrupt.id, status="resolved", payload=payload)
            )
    run_input = run_input.model_copy(update={"resume": resume})
    if resume:
        # They may be large, and are checked against a schema.
        answers = await run_in_thread(read_answers, run_input, requests, registry, pool="reading")
    else:
        answers = read_answers(run_input, requests, registry)
    results = {call_id: sent[call_id] for call_id in sent if call_id in left}
    if answers is not None and results.keys() != left.keys():
        raise RunFailed("interrupt_pending")
    return NewTurn(answers, _load_results(results, left), messages, _last_prompts(messages))


def _deferred_calls(requests: DeferredToolRequests | None) -> dict[str, OpenInterrupt]:
    """Find the calls that one of our tools has deferred: a tool message may answer them.

    An approval and a question need a resume.
    """
    calls = {}
    for interrupt in open_interrupts(requests):
        call_id = interrupt.call.tool_call_id
        if requests and requests.kind(call_id) == "external":
            calls[call_id] = interrupt
    return calls


def _payload(message: ToolMessage, interrupt: OpenInterrupt) -> Any:
    text = only_text(message.content)
    if text is None:
        raise Unprocessable("The result of a deferred call must be a text.")
    if interrupt.schema is not None:
        with suppress(ValueError):
            return json.loads(text)
    return text


def _results_of(
    open_calls: Container[str], messages: Sequence[Message], conversation: Conversation
) -> dict[str, ToolMessage]:
    """Find the results of the open calls.

    Some providers use a call's id again, so a result may belong to an earlier call.
    """
    stored_ids: set[str] = set()
    for stored in conversation.messages:
        stored_ids.update(annotation(stored, "ids") or ())
    results: dict[str, ToolMessage] = {}
    called: set[str] = set()
    for message in messages:
        if isinstance(message, AssistantMessage):
            for call in message.tool_calls or ():
                called.add(call.id)
                # A result before this call belongs to an earlier one.
                results.pop(call.id, None)
        elif isinstance(message, ToolMessage) and message.tool_call_id in open_calls:
            is_new = message.tool_call_id in called or message.id not in stored_ids
            if is_new:
                results[message.tool_call_id] = message
    return results


def _load_results(
    results: Mapping[str, ToolMessage], calls: Mapping[str, ToolCallPart]
) -> list[ModelMessage]:
    if not results:
        return []
    check_files(results.values())
    loaded = read([_calls_of(results, calls), *results.values()])[1:]
    MessageIds(results.values()).stamp(loaded)
    return loaded


def _calls_of(results: Iterable[str], open_calls: Mapping[str, ToolCallPart]) -> AssistantMessage:
    """Write the stored calls as a message, because results don't name their tools."""
    tool_calls = []
    for call_id in results:
        call = open_calls[call_id]
        function = FunctionCall(name=call.tool_name, arguments=call.args_as_json_str())
        tool_calls.append(ToolCall(id=call_id, function=function))
    return AssistantMessage(id="calls", tool_calls=tool_calls)


def _last_prompts(messages: Sequence[Message]) -> list[Message]:
    prompts: list[Message] = []
    for message in messages:
        if message.role == "assistant":
            prompts = []
        elif message.role == "user":
            prompts.append(message)
    return prompts
