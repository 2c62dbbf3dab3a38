"""Read the answers of a resume to a paused thread.

A resume answers all open interrupts, once and before they expire.
"""

import json
from decimal import Decimal
from typing import Any

from pydantic import ValidationError
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    ToolApproved,
    ToolDenied,
)
from pydantic_ai.exceptions import ToolFailed, UserError
from pydantic_ai.ui.ag_ui import AGUIAdapter

from agui.errors import RunFailed
from agui.protocol.interrupts import MAX_REASON_CHARS, PREFIX, OpenInterrupt, open_interrupts
from agui.protocol.types import ResumeEntry, RunAgentInput
from agui.tools.definitions import CHANGED_KEY, DEFINITION_KEY, OWN_WORDS_KEY
from agui.tools.registry import ToolRegistry

# The schema of an answer to a question without a schema.
ANYTHING = {"not": {"type": "null"}}
DECLINED = "The user declined to answer."
# An adapter needs an agent to read messages and answers, though it doesn't use it.
READER: Agent[None, str] = Agent()

Answer = tuple[OpenInterrupt, ResumeEntry]


def read_answers(
    run_input: RunAgentInput, requests: DeferredToolRequests | None, registry: ToolRegistry
) -> DeferredToolResults | None:
    """Match a resume with the open interrupts: it has to answer all of them, and nothing else.

    Raises RunFailed: interrupt_unknown, interrupt_pending, interrupt_expired, invalid_resume.
    """
    interrupts = {interrupt.id: interrupt for interrupt in open_interrupts(requests)}
    answers: dict[str, ResumeEntry] = {}
    for entry in run_input.resume or ():
        if entry.interrupt_id not in interrupts or entry.interrupt_id in answers:
            raise RunFailed("interrupt_unknown")
        answers[entry.interrupt_id] = entry
    if len(answers) < len(interrupts):
        raise RunFailed("interrupt_pending")
    if not answers:
        return None
    for interrupt_id, entry in answers.items():
        if entry.status == "resolved" and interrupts[interrupt_id].expired:
            raise RunFailed("interrupt_expired")
    approvals: list[Answer] = []
    questions: list[Answer] = []
    for interrupt_id, entry in answers.items():
        interrupt = interrupts[interrupt_id]
        if interrupt.is_approval:
            approvals.append((interrupt, entry))
        else:
            questions.append((interrupt, entry))
    results = _read_approvals(approvals, run_input, registry)
    results.calls = {}
    for interrupt, entry in questions:
        results.calls[interrupt.call.tool_call_id] = _read_answer(interrupt, entry)
    return results


def _read_approvals(
    answers: list[Answer], run_input: RunAgentInput, registry: ToolRegistry
) -> DeferredToolResults:
    # The adapter knows an interrupt by its prefix and the id of the call.
    resume = []
    for interrupt, entry in answers:
        adapter_id = PREFIX + interrupt.call.tool_call_id
        resume.append(entry.model_copy(update={"interrupt_id": adapter_id}))
    adapter = AGUIAdapter(READER, run_input.model_copy(update={"resume": resume}))
    try:
        results = adapter.deferred_tool_results or DeferredToolResults()
    except UserError:
        raise RunFailed("invalid_resume") from None
    results.metadata = {}
    for interrupt, _ in answers:
        call = interrupt.call
        answered: dict[str, Any] = {
            DEFINITION_KEY: interrupt.definition,
            OWN_WORDS_KEY: interrupt.own_words,
        }
        results.metadata[call.tool_call_id] = answered
        approval = results.approvals[call.tool_call_id]
        if isinstance(approval, ToolApproved):
            arguments = _approved_arguments(interrupt, approval.override_args)
            approval.override_args = arguments
            if arguments is not None:
                _check_arguments(call.tool_name, arguments, registry)
            if arguments is not interrupt.edited:
                answered[CHANGED_KEY] = interrupt.own_words
        # The reason is kept in the audit trail, and the model reads it with each turn.
        if isinstance(approval, ToolDenied) and len(approval.message) > MAX_REASON_CHARS:
            raise RunFailed("invalid_resume")
    return results


def _approved_arguments(
    interrupt: OpenInterrupt, edited: dict[str, Any] | None
) -> dict[str, Any] | None:
    """Find the arguments to use instead of the model's; None to use the model's.

    Values that the user did not change are exactly those that the user was asked about.
    """
    if edited is None:
        return interrupt.edited
    given = interrupt.edited
    if given is None:
        try:
            given = interrupt.call.args_as_dict(raise_if_invalid=True)
        except (ValueError, AssertionError):
            given = {}
    exact = _only_editable(interrupt, restored(edited, given), given)
    if json.dumps(exact, sort_keys=True) == json.dumps(given, sort_keys=True):
        return interrupt.edited
    return exact


def restored(edited: Any, given: Any) -> Any:
    """Put back the exact numbers, if a client changed them only by rounding.

    JavaScript reads 1.0 as 1, and keeps few digits.
    """
    if isinstance(edited, dict) and isinstance(given, dict):
        result = dict(edited)
        for key in edited.keys() & given.keys():
            result[key] = restored(edited[key], given[key])
        return result
    if isinstance(edited, list) and isinstance(given, list) and len(edited) == len(given):
        return list(map(restored, edited, given))
    if _is_number(edited) and _is_number(given) and _in_javascript(given) == Decimal(repr(edited)):
        return given
    return edited


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _in_javascript(number: float) -> Decimal:
    try:
        return Decimal(repr(float(number)))
    except OverflowError:
        return Decimal("Infinity")


def _check_arguments(tool_name: str, arguments: dict[str, Any], registry: ToolRegistry) -> None:
    # Tools outside of the registry check their arguments when they are called.
    if tool_name in registry:
        try:
            registry.get(tool_name).validate(arguments)
        except ValidationError:
            raise RunFailed("invalid_resume") from None


def _only_editable(
    interrupt: OpenInterrupt, edited: dict[str, Any], given: dict[str, Any]
) -> dict[str, Any]:
    """Keep the arguments that the user may not change. Raises RunFailed if a client changed one."""
    if interrupt.editable is True:
        return edited
    free = interrupt.editable or []
    result = {name: value for name, value in edited.items() if name in free}
    with_defaults = {**json.loads(interrupt.arguments or "{}"), **given}
    for name, value in edited.items():
        if name not in free and value != with_defaults.get(name):
            raise RunFailed("invalid_resume")
    for name, value in given.items():
        if name not in free:
            result[name] = value
    return result


def _read_answer(interrupt: OpenInterrupt, entry: ResumeEntry) -> Any:
    """Read an answer as a text.

    In the store, a client's object could look like a file, which pydantic-ai reads with the
    server's rights.
    """
    if entry.status == "cancelled":
        return ToolFailed(DECLINED)
    # No other request needs the library for schemas, whose import takes longer than a turn.
    from agui.protocol.answer_schemas import fits

    if not fits(entry.payload, interrupt.schema or ANYTHING):
        raise RunFailed("invalid_resume")
    if isinstance(entry.payload, str):
        return entry.payload
    return json.dumps(entry.payload, ensure_ascii=False)
