"""Mark the calls of a stored answer that have secret arguments, for those who show it later."""

from collections.abc import Iterable

from pydantic_ai.messages import BaseToolCallPart, ModelMessage

from agui.stores.annotations import annotate
from agui.tools.secret_arguments import Path
from agui.tools.timer import ToolCallTimer

# An annotation of an answer: the paths of secret arguments, by tool call id.
SECRETS_KEY = "secret_arguments"


def annotate_secrets(messages: Iterable[ModelMessage], timer: ToolCallTimer) -> None:
    """Annotate each answer with the places of secret arguments, so that readers can hide them."""
    for message in messages:
        secrets: dict[str, list[Path]] = {}
        for part in message.parts:
            if isinstance(part, BaseToolCallPart):
                paths = timer.secrets(part.tool_name)
                if paths:
                    secrets[part.tool_call_id] = paths
        if secrets:
            annotate(message, **{SECRETS_KEY: secrets})
