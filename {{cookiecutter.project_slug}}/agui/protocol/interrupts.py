"""What a paused thread asks, and what a resume answers: AG-UI's interrupts.

A run pauses for an approval (reason "tool_call") or for a question of a tool ("input_required").
One resume answers all that is open, before it expires and once.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone
from jsonschema import Draft202012Validator, validators
from jsonschema import ValidationError as JsonSchemaError
from pydantic import TypeAdapter, ValidationError
from pydantic_ai import (
    Agent,
    CallDeferred,
    DeferredToolRequests,
    DeferredToolResults,
    ToolApproved,
    ToolDenied,
)
from pydantic_ai.exceptions import ToolFailed, UserError
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.ui.ag_ui import AGUIAdapter

from agui import conf
from agui.errors import RunFailed
from agui.protocol.types import Interrupt, ResumeEntry, RunAgentInput
from agui.stores.annotations import METADATA_KEY
from agui.stores.codec import to_json
from agui.tools.definitions import DEFINITION_KEY, Asked
from agui.tools.registry import ToolRegistry
from agui.tools.schema import PARAMETERS_KEY, X_CONFIRM_KEY, X_SUMMARY_KEY, prettify

# Before the call's id: what pydantic-ai expects in an answer.
PREFIX = "int-"
MAX_REASON_CHARS = 2000
APPROVAL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "editedArgs": {"type": "object"},
        "reason": {"type": "string", "maxLength": MAX_REASON_CHARS},
    },
    "required": ["approved"],
}
# An answer to a question without a schema.
ANYTHING = {"not": {"type": "null"}}
DECLINED = "The user declined to answer."
# To read messages and answers, an adapter needs an agent, but nothing of it.
READER: Agent[None, str] = Agent()


class Question(CallDeferred):
    """Raised by a tool: asks the user, and pauses the run. The answer becomes the tool's result.

        raise Question("Which day suits you?", answer=date)

    `answer` is any type that pydantic knows. Its JSON Schema goes to the client, and the answer has
    to fit that; validators of the type are not asked.
    """

    def __init__(self, message: str, *, answer: Any = str) -> None:
        schema = TypeAdapter(answer).json_schema()
        super().__init__({"message": message, "response_schema": schema}, kind="question")


@dataclass(frozen=True)
class Open:
    """A call of one of our tools that waits for the user."""

    call: ToolCallPart
    is_approval: bool
    metadata: dict[str, Any]
    """What the tool says of it."""
    id: str
    expires_at: str | None
    definition: str | None = None
    """A digest of the tool's definition that the user is asked with."""
    arguments: str | None = None
    """All that the tool will get, as JSON: defaults included."""
    edited: dict[str, Any] | None = None
    """The arguments that the user has put in the place of the model's, when they are asked once more."""

    @property
    def interrupt(self) -> Interrupt:
        told = {key: value for key, value in self.metadata.items() if key != PARAMETERS_KEY}
        label = told.get(X_SUMMARY_KEY) or prettify(self.call.tool_name)
        if self.is_approval:
            told = {X_SUMMARY_KEY: label, **told}
            message = told.get(X_CONFIRM_KEY) or f'Run "{label}"?'
        else:
            message = told.pop("message", None) or f'"{label}" needs an answer.'
            told.pop("response_schema", None)
        if self.arguments is not None:
            told["arguments"] = self.arguments
        if self.edited is not None:
            told["edited"] = json.dumps(self.edited, ensure_ascii=False)
        return Interrupt(
            id=self.id,
            reason="tool_call" if self.is_approval else "input_required",
            tool_call_id=self.call.tool_call_id,
            message=str(message),
            response_schema=self.schema,
            expires_at=self.expires_at,
            metadata={**told, "toolName": self.call.tool_name},
        )

    @property
    def schema(self) -> dict[str, Any] | None:
        """What an answer has to fit; None for a question that takes anything."""
        schema = self._approval_schema if self.is_approval else self.metadata.get("response_schema")
        return schema if isinstance(schema, dict) else None

    @property
    def _approval_schema(self) -> dict[str, Any]:
        """The arguments may be edited: into what the tool takes."""
        own = self.metadata.get(PARAMETERS_KEY)
        parameters = dict(own) if isinstance(own, dict) else {}
        shared = {"$defs": definitions} if (definitions := parameters.pop("$defs", None)) else {}
        properties = {
            **APPROVAL_SCHEMA["properties"],
            **({"editedArgs": parameters} if parameters else {}),
        }
        return {**APPROVAL_SCHEMA, "properties": properties, **shared}

    @property
    def expired(self) -> bool:
        return (
            self.expires_at is not None and datetime.fromisoformat(self.expires_at) < timezone.now()
        )


def ask(
    requests: DeferredToolRequests,
    run_input: RunAgentInput,
    run_key: str,
    asked: Mapping[str, Asked],
    edited: Mapping[str, Any],
) -> None:
    """Give each approval and question an id that no other has, and a deadline.

    `asked` is what is known of the calls, `edited` what the user has already changed of them. The
    call's id alone won't do: some providers use theirs again, and an old answer must not fit a new
    question.
    """
    frontend = {tool.name for tool in run_input.tools or ()}
    seconds = conf.get().interrupt_expires_seconds
    expires_at = (
        None if seconds is None else (timezone.now() + timedelta(seconds=seconds)).isoformat()
    )
    for call in [
        *requests.approvals,
        *(call for call in requests.calls if call.tool_name not in frontend),
    ]:
        own = {"id": f"{PREFIX}{call.tool_call_id}-{run_key[:8]}", "expires_at": expires_at}
        told = requests.metadata.get(call.tool_call_id) or {}
        about = asked.get(call.tool_call_id)
        if about and call in requests.approvals:
            own |= {"definition": about.definition, "arguments": about.arguments}
            own["edited"] = edited.get(call.tool_call_id)
            told = {**about.told, **told}
        elif about:
            told = {X_SUMMARY_KEY: about.told[X_SUMMARY_KEY], **told}
        # As JSON: a tool's words may be anything, such as lazy translations. What can't be told is
        # not stored.
        requests.metadata[call.tool_call_id] = {**to_json(told), METADATA_KEY: own}


def open_interrupts(requests: DeferredToolRequests | None) -> list[Open]:
    """What the user has to answer before the thread goes on."""
    if requests is None:
        return []
    found = []
    for place, call in enumerate([*requests.approvals, *requests.calls]):
        metadata = dict(requests.metadata.get(call.tool_call_id) or {})
        if own := metadata.pop(METADATA_KEY, None):
            found.append(Open(call, place < len(requests.approvals), metadata, **own))
    return found


def frontend_calls(requests: DeferredToolRequests | None) -> dict[str, ToolCallPart]:
    """The calls that a thread left to the client's own tools, by id."""
    asked = {one.call.tool_call_id for one in open_interrupts(requests)}
    calls = requests.calls if requests else []
    return {call.tool_call_id: call for call in calls if call.tool_call_id not in asked}


def read_answers(
    run_input: RunAgentInput, requests: DeferredToolRequests | None, registry: ToolRegistry
) -> DeferredToolResults | None:
    """Match a resume against what is open: it has to answer all of it, and nothing else.

    Raises RunFailed: interrupt_unknown, interrupt_pending, interrupt_expired, invalid_resume.
    """
    waiting = {one.id: one for one in open_interrupts(requests)}
    entries = run_input.resume or []
    answered = [entry.interrupt_id for entry in entries]
    if not set(answered) <= set(waiting) or len(answered) != len(set(answered)):
        raise RunFailed("interrupt_unknown")
    if set(waiting) - set(answered):
        raise RunFailed("interrupt_pending")
    if not entries:
        return None
    if any(entry.status == "resolved" and waiting[entry.interrupt_id].expired for entry in entries):
        raise RunFailed("interrupt_expired")
    pairs = [(waiting[entry.interrupt_id], entry) for entry in entries]
    results = _approvals(
        [(one, entry) for one, entry in pairs if one.is_approval], run_input, registry
    )
    results.calls = {
        one.call.tool_call_id: _answer(one, entry) for one, entry in pairs if not one.is_approval
    }
    return results


def _approvals(
    pairs: list[tuple[Open, ResumeEntry]], run_input: RunAgentInput, registry: ToolRegistry
) -> DeferredToolResults:
    resume = [
        entry.model_copy(update={"interrupt_id": PREFIX + one.call.tool_call_id})
        for one, entry in pairs
    ]
    try:
        results = AGUIAdapter(
            READER, run_input.model_copy(update={"resume": resume})
        ).deferred_tool_results
    except UserError:
        raise RunFailed("invalid_resume") from None
    results = results or DeferredToolResults()
    results.metadata = {one.call.tool_call_id: {DEFINITION_KEY: one.definition} for one, _ in pairs}
    for one, _ in pairs:
        approval = results.approvals[one.call.tool_call_id]
        if isinstance(approval, ToolApproved):
            approval.override_args = _changed(one, approval.override_args)
            if approval.override_args is not None:
                _check_arguments(one.call.tool_name, approval.override_args, registry)
        if isinstance(approval, ToolDenied) and len(approval.message) > MAX_REASON_CHARS:
            # It is kept in the audit trail, and read by the model with each turn
            raise RunFailed("invalid_resume")
    return results


def _changed(one: Open, edited: dict[str, Any] | None) -> dict[str, Any] | None:
    """The edited arguments, exact where the user changed nothing; None if the model's are to be used."""
    if edited is None:
        return one.edited
    try:
        given = one.call.args_as_dict(raise_if_invalid=True) if one.edited is None else one.edited
    except (ValueError, AssertionError):
        return edited
    exact: dict[str, Any] = restored(edited, given)
    return (
        one.edited
        if json.dumps(exact, sort_keys=True) == json.dumps(given, sort_keys=True)
        else exact
    )


def restored(edited: Any, given: Any) -> Any:
    """Put back the numbers that a client could only hold rounded: JavaScript has 1.0 as 1, and few digits."""
    if isinstance(edited, dict) and isinstance(given, dict):
        return {
            key: restored(value, given[key]) if key in given else value
            for key, value in edited.items()
        }
    if isinstance(edited, list) and isinstance(given, list) and len(edited) == len(given):
        return [restored(value, before) for value, before in zip(edited, given, strict=True)]
    if (
        type(edited) in (int, float)
        and type(given) in (int, float)
        and _in_javascript(given) == Decimal(repr(edited))
    ):
        return given
    return edited


def _in_javascript(number: float) -> Decimal:
    try:
        return Decimal(repr(float(number)))
    except OverflowError:
        return Decimal("Infinity")


def _check_arguments(tool_name: str, arguments: dict[str, Any], registry: ToolRegistry) -> None:
    if tool_name in registry:  # Others check them when they are called
        try:
            registry.get(tool_name).validate(arguments)
        except ValidationError:
            raise RunFailed("invalid_resume") from None


def _answer(one: Open, entry: ResumeEntry) -> Any:
    if entry.status == "cancelled":
        return ToolFailed(DECLINED)
    # A text: in the store, a client's object could look like a file, which pydantic-ai reads with
    # the server's rights.
    text = (
        entry.payload
        if isinstance(entry.payload, str)
        else json.dumps(entry.payload, ensure_ascii=False)
    )
    if not _fits(entry.payload, one.schema or ANYTHING):
        raise RunFailed("invalid_resume")
    return text


def _fits(payload: Any, schema: dict[str, Any]) -> bool:
    try:
        return bool(Validator(schema, format_checker=Validator.FORMAT_CHECKER).is_valid(payload))
    except RecursionError:
        return False


def _unique_items(
    validator: Any, is_wanted: Any, items: Any, schema: Any
) -> Iterator[JsonSchemaError]:
    """Check `uniqueItems` in one pass: jsonschema compares each object in a list with each other one."""
    if (
        is_wanted
        and isinstance(items, list)
        and len({json.dumps(item, sort_keys=True) for item in items}) < len(items)
    ):
        yield JsonSchemaError("The items are not unique.")


Validator = validators.extend(Draft202012Validator, {"uniqueItems": _unique_items})
