"""The questions of a paused thread: AG-UI's interrupts.

A run pauses for an approval (reason "tool_call") or for a question of a tool ("input_required").
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _
from pydantic import TypeAdapter
from pydantic_ai import CallDeferred, DeferredToolRequests
from pydantic_ai.messages import ToolCallPart

from agui import clock, conf
from agui.protocol.types import Interrupt, RunAgentInput
from agui.sentences import fill
from agui.stores.annotations import METADATA_KEY
from agui.stores.codec import to_json
from agui.tools.definitions import Asked, has_own_words
from agui.tools.questions import in_lines
from agui.tools.schema import (
    PARAMETERS_KEY,
    X_CONFIRM_KEY,
    X_EDITABLE_KEY,
    X_SUMMARY_KEY,
    prettify,
)

# pydantic-ai expects this before the call's id in an answer.
PREFIX = "int-"
MAX_REASON_CHARS = 2000
APPROVAL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "editedArgs": {"type": "object"},
        # Some clients show their buttons only for texts without a limit. The server checks it.
        "reason": {"type": "string"},
    },
    "required": ["approved"],
}


class Question(CallDeferred):
    """Raised by a tool: asks the user, and pauses the run. The answer becomes the tool's result.

        raise Question("Which day suits you?", answer=date)

    `answer` is any type that pydantic knows. Its JSON Schema goes to the client, and the answer has
    to fit the schema; the type's validators are not called.
    """

    def __init__(self, message: str, *, answer: Any = str) -> None:
        schema = TypeAdapter(answer).json_schema()
        super().__init__({"message": message, "response_schema": schema}, kind="question")


@dataclass(frozen=True)
class OpenInterrupt:
    """A call of one of our tools that waits for the user."""

    call: ToolCallPart
    is_approval: bool
    metadata: dict[str, Any]
    """The tool's own data about the call."""
    id: str
    expires_at: str | None
    definition: str | None = None
    """A digest of the tool's definition that the user is asked about."""
    own_words: bool = False
    """Whether the tool asks in words of its own, made from the arguments."""
    arguments: str | None = None
    """All arguments that the tool will get, as JSON, with the defaults."""
    edited: dict[str, Any] | None = None
    """The arguments that the user has edited before, if they are asked once more."""

    @property
    def interrupt(self) -> Interrupt:
        metadata = dict(self.metadata)
        metadata.pop(PARAMETERS_KEY, None)
        label = metadata.get(X_SUMMARY_KEY) or prettify(self.call.tool_name)
        if self.is_approval:
            reason = "tool_call"
            metadata = {X_SUMMARY_KEY: label, **metadata}
            message = metadata.get(X_CONFIRM_KEY) or fill(_('Run "{tool}"?'), tool=label)
        else:
            reason = "input_required"
            message = metadata.pop("message", None) or fill(
                _('"{tool}" needs an answer.'), tool=label
            )
            metadata.pop("response_schema", None)
        if self.arguments is not None:
            metadata["arguments"] = self.arguments
        if self.is_approval:
            # TanStack AI's names.
            metadata.setdefault("kind", "approval")
            metadata.setdefault("input", self._input)
        if self.edited is not None:
            metadata["edited"] = json.dumps(self.edited, ensure_ascii=False)
        return Interrupt(
            id=self.id,
            reason=reason,
            tool_call_id=self.call.tool_call_id,
            message=str(message),
            response_schema=self.schema,
            expires_at=self.expires_at,
            metadata={**metadata, "toolName": self.call.tool_name},
        )

    @property
    def _input(self) -> Any:
        try:
            return json.loads(self.arguments or self.call.args_as_json_str())
        except ValueError:
            return {}

    @property
    def schema(self) -> dict[str, Any] | None:
        """The JSON Schema of an answer; None for a question that takes any answer."""
        if self.is_approval:
            return self._approval_schema
        schema = self.metadata.get("response_schema")
        return schema if isinstance(schema, dict) else None

    @property
    def _approval_schema(self) -> dict[str, Any]:
        """The JSON Schema of an approval: edited arguments have to fit the tool's parameters."""
        properties = dict(APPROVAL_SCHEMA["properties"])
        if self.editable is False:
            del properties["editedArgs"]
            return {**APPROVAL_SCHEMA, "properties": properties}
        parameters = self.metadata.get(PARAMETERS_KEY)
        if not parameters or not isinstance(parameters, dict):
            return APPROVAL_SCHEMA
        edited = dict(parameters)
        if "$defs" in edited:
            # With an address of its own, the schema keeps its definitions: some clients show their
            # buttons only for answers without any.
            edited = {"$id": f"urn:agui:{self.call.tool_name}", **edited}
        edited["properties"] = self._filled(edited.get("properties") or {})
        properties["editedArgs"] = edited
        return {**APPROVAL_SCHEMA, "properties": properties}

    @property
    def editable(self) -> bool | list[str]:
        """Whether the user may change the arguments, or the names of those that they may change."""
        editable = self.metadata.get(X_EDITABLE_KEY, True)
        return editable if isinstance(editable, bool | list) else True

    def _filled(self, properties: dict[str, Any]) -> dict[str, Any]:
        """Give each argument its value as the default, and mark those that may not be changed.

        A client that makes a form of any schema then begins with the arguments of the call.
        """
        given = self.edited
        if given is None:
            given = self._input
        filled = {}
        for name, schema in properties.items():
            filled[name] = dict(schema)
            if name in given:
                filled[name]["default"] = given[name]
            if isinstance(self.editable, list) and name not in self.editable:
                filled[name]["readOnly"] = True
        return filled

    @property
    def expired(self) -> bool:
        if self.expires_at is None:
            return False
        return datetime.fromisoformat(self.expires_at) < clock.now()


def ask(
    requests: DeferredToolRequests,
    run_input: RunAgentInput,
    run_key: str,
    asked: Mapping[str, Asked],
    edited: Mapping[str, Any],
) -> None:
    """Give each approval and question a unique id and a deadline.

    `asked` is what the user is told about the calls, and `edited` are the arguments that the user
    has already edited, both by tool call id. That id alone is not unique: some providers use an id
    again, and an old answer must not fit a new question.
    """
    frontend = {tool.name for tool in run_input.tools or ()}
    expires_at = _deadline()
    for index, call in enumerate([*requests.approvals, *requests.calls]):
        is_approval = index < len(requests.approvals)
        if call.tool_name in frontend and not is_approval:
            continue
        # The run's key makes the id unique for each time that the user is asked.
        unique_id = f"{PREFIX}{call.tool_call_id}-{run_key[:8]}"
        own: dict[str, Any] = {"id": unique_id, "expires_at": expires_at}
        metadata = requests.metadata.get(call.tool_call_id) or {}
        about = asked.get(call.tool_call_id)
        if about and is_approval:
            own["definition"] = about.definition
            own["own_words"] = about.had_own_words or has_own_words(about.defaults, metadata)
            own["arguments"] = about.arguments
            own["edited"] = edited.get(call.tool_call_id)
            metadata = in_lines({**about.defaults, **metadata})
        elif about:
            metadata = {X_SUMMARY_KEY: about.defaults[X_SUMMARY_KEY], **metadata}
        # A tool may tell anything, such as lazy translations, so only its JSON form is stored.
        requests.metadata[call.tool_call_id] = {**to_json(metadata), METADATA_KEY: own}


def _deadline() -> str | None:
    seconds = conf.get().interrupt_expires_seconds
    if seconds is None:
        return None
    return (clock.now() + timedelta(seconds=seconds)).isoformat()


def open_interrupts(requests: DeferredToolRequests | None) -> list[OpenInterrupt]:
    """List what the user has to answer before the thread goes on."""
    if requests is None:
        return []
    interrupts = []
    for index, call in enumerate([*requests.approvals, *requests.calls]):
        metadata = dict(requests.metadata.get(call.tool_call_id) or {})
        own = metadata.pop(METADATA_KEY, None)
        if own:
            is_approval = index < len(requests.approvals)
            interrupts.append(OpenInterrupt(call, is_approval, metadata, **own))
    return interrupts


def frontend_calls(requests: DeferredToolRequests | None) -> dict[str, ToolCallPart]:
    """Find the calls that a thread left to the client's own tools, by id."""
    if requests is None:
        return {}
    calls = {call.tool_call_id: call for call in requests.calls}
    for interrupt in open_interrupts(requests):
        calls.pop(interrupt.call.tool_call_id, None)
    return calls
