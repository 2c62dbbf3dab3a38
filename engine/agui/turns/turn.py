"""The point from which a run continues: the end of a thread, and the shared state."""

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_ai import DeferredToolResults, ToolApproved
from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import ModelMessage

from agui import conf
from agui.agents.config import AgentConfig
from agui.errors import Unprocessable
from agui.protocol.types import RunAgentInput
from agui.stores.annotations import annotation
from agui.stores.base import Beginning, ThreadStore
from agui.stores.codec import to_json
from agui.stores.tree import prompt_id
from agui.tools.definitions import CHANGED_KEY


@dataclass
class SharedState:
    """The state that a page and the agent share, at the start of a run."""

    value: Any
    """The state that the client sent, or the thread has, or the agent's defaults."""
    client: Any
    """The state that the client has. A client that sends no state has the defaults."""
    stored: Any
    """The state that the thread has."""
    fades: bool
    """Whether the message that keeps the state will soon be too far back to be loaded."""


@dataclass
class Turn:
    """The end of a thread and the shared state, from which a run continues."""

    store: ThreadStore
    conversation: Conversation
    """The last messages of the stored conversation, the new turn included."""
    history: list[ModelMessage]
    """The messages of the conversation that the model reads."""
    text: str
    """The user's last text, or ''."""
    state: SharedState
    answers: DeferredToolResults | None = None
    """The answers to the questions for which the thread waited."""

    @property
    def approved(self) -> set[str]:
        """The ids of the tool calls that the user has approved with this turn."""
        return set(self._approvals())

    @property
    def edited_arguments(self) -> dict[str, Any]:
        """The arguments with which the user replaced the model's, by tool call id."""
        edited = {}
        for call_id, approval in self._approvals().items():
            if approval.override_args is not None:
                edited[call_id] = approval.override_args
        return edited

    @property
    def asks_anew(self) -> bool:
        """Whether the user has changed arguments that a tool had asked about in its own words."""
        if self.answers is None:
            return False
        return any(metadata.get(CHANGED_KEY) for metadata in self.answers.metadata.values())

    def _approvals(self) -> dict[str, ToolApproved]:
        approvals = {}
        if self.answers is not None:
            for call_id, approval in self.answers.approvals.items():
                if isinstance(approval, ToolApproved):
                    approvals[call_id] = approval
        return approvals


async def load_window(store: ThreadStore, scope: str, thread_id: str) -> Beginning:
    """Load the last messages of a thread, and whether a run on it has not ended."""
    limit = conf.get().history_messages
    loaded = await store.load_turn(thread_id, limit=limit, scope=scope)
    conversation = await up_to_a_prompt(store, loaded.conversation, limit)
    return Beginning(conversation, loaded.has_open_run)


async def up_to_a_prompt(
    store: ThreadStore, conversation: Conversation | None, limit: int | None
) -> Conversation | None:
    """Load more messages if the loaded ones are all from the middle of one long turn."""
    while conversation and limit and len(conversation.messages) == limit:
        if any(map(prompt_id, conversation.messages)):
            break
        limit *= 2
        conversation = await store.load(conversation.conversation_id, limit=limit)
    return conversation


def readable(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Select the last messages for the model.

    The first of them is the user's, so that no turn is cut.
    """
    limit = conf.get().history_messages
    if limit is None or len(messages) < limit:
        return messages
    start = 0
    for index, message in enumerate(messages):
        if prompt_id(message):
            start = index
            if index >= len(messages) - limit:
                break
    return messages[start:]


def read_state(
    run_input: RunAgentInput, conversation: Conversation, config: AgentConfig
) -> SharedState:
    """Read the shared state that the client sent, or the one that the thread has.

    Raises Unprocessable if the client's state does not have the agent's form.
    """
    sent = run_input.state or {}
    stored, fades = _stored_state(conversation)
    if config.state_type is None:
        if not isinstance(sent, dict):
            sent = {}
        return SharedState(sent or stored or {}, client=sent, stored=stored or {}, fades=fades)
    default = config.state_type()
    value = default
    if sent:
        try:
            value = config.state_type.model_validate(sent)
        except ValidationError:
            raise Unprocessable("The state does not fit the agent's state_type.") from None
    elif stored is not None:
        # A state of an older form is forgotten, so that the thread can go on.
        with suppress(ValidationError):
            value = config.state_type.model_validate(stored)
    default_json = to_json(default)
    if stored is None:
        stored = default_json
    return SharedState(value, client=sent or default_json, stored=stored, fades=fades)


def _stored_state(conversation: Conversation) -> tuple[Any, bool]:
    """Find the state that a thread has, and whether it fades; None if the thread has no state."""
    messages = conversation.messages
    for age, message in enumerate(reversed(messages), start=1):
        state = annotation(message, "state")
        if state is not None:
            limit = conf.get().history_messages or math.inf
            return state, bool(state) and age > limit / 2
    return None, False
