"""What a run continues from: the end of a thread, and the state that a page and the agent share."""

import math
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError
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


@dataclass
class SharedState:
    """The state that a page and the agent share, at the start of a run."""

    value: Any
    """What the client sent, else what the thread's last turn left, else the agent's defaults."""
    client: Any
    """As the client has it. One that sends none has the defaults."""
    stored: Any
    """As the thread has it."""
    fades: bool
    """Whether the note of it will soon be too far back to be read."""


@dataclass
class Turn:
    """What a run continues from."""

    store: ThreadStore
    conversation: Conversation
    """The last messages of the stored conversation, the new turn included."""
    history: list[ModelMessage]
    """Those of them that the model reads."""
    text: str
    """What the user wrote last, or ''."""
    state: SharedState
    answers: DeferredToolResults | None = None
    """The decisions on the calls that the thread waited for."""

    @property
    def approved(self) -> set[str]:
        """The ids of the tool calls that the user has approved with this turn."""
        approvals = self.answers.approvals if self.answers else {}
        return {
            call_id for call_id, approval in approvals.items() if isinstance(approval, ToolApproved)
        }

    @property
    def edited_arguments(self) -> dict[str, Any]:
        """What the user put in the place of the model's arguments, by tool call id."""
        approvals = self.answers.approvals if self.answers else {}
        return {
            call_id: approval.override_args
            for call_id, approval in approvals.items()
            if isinstance(approval, ToolApproved) and approval.override_args is not None
        }


async def load_window(store: ThreadStore, scope: str, thread_id: str) -> Beginning:
    """Load the last messages of a thread, and whether a run on it has not ended."""
    limit = conf.get().history_messages
    loaded = await store.load_turn(thread_id, limit=limit, scope=scope)
    return loaded._replace(conversation=await up_to_a_prompt(store, loaded.conversation, limit))


async def up_to_a_prompt(
    store: ThreadStore, conversation: Conversation | None, limit: int | None
) -> Conversation | None:
    """Load more, should the window be in the middle of one long turn."""
    while (
        conversation
        and limit
        and len(conversation.messages) == limit
        and not any(map(prompt_id, conversation.messages))
    ):
        limit *= 2
        conversation = await store.load(conversation.conversation_id, limit=limit)
    return conversation


def readable(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Take what the model reads: the last messages, from one of the user on, so that no turn is cut."""
    limit = conf.get().history_messages
    if limit is None or len(messages) < limit:
        return messages
    prompts = [index for index, message in enumerate(messages) if prompt_id(message)]
    within = [index for index in prompts if index >= len(messages) - limit]
    return messages[(within or prompts[-1:] or [0])[0] :]


def read_state(
    run_input: RunAgentInput, conversation: Conversation, config: AgentConfig
) -> SharedState:
    sent = run_input.state or {}
    noted = [
        (i, s)
        for i, m in enumerate(conversation.messages)
        if (s := annotation(m, "state")) is not None
    ]
    place, stored = noted[-1] if noted else (0, None)
    fades = (
        bool(stored)
        and len(conversation.messages) - place > (conf.get().history_messages or math.inf) / 2
    )
    if config.state_type is None:
        sent = sent if isinstance(sent, dict) else {}
        return SharedState(sent or stored or {}, client=sent, stored=stored or {}, fades=fades)
    default = config.state_type()
    try:
        value = config.state_type.model_validate(sent) if sent else _validated(stored, default)
    except ValidationError:
        raise Unprocessable("The state does not have the agent's form.") from None
    known = to_json(default)
    return SharedState(
        value, client=sent or known, stored=known if stored is None else stored, fades=fades
    )


def _validated(stored: Any, default: BaseModel) -> BaseModel:
    try:
        return default if stored is None else type(default).model_validate(stored)
    except ValidationError:
        # Of an older form of the agent: better forgotten than a thread that can't go on
        return default
