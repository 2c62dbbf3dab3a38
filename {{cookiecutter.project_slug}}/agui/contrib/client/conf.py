from typing import Annotated

from pydantic import Field

from agui.conf_sections import Section


class RemoteAgent(Section):
    """An agent elsewhere that this one may leave a task to."""

    url: str = Field(pattern=r"^https?://[^/]", description="Its AG-UI endpoint.")
    headers: dict[str, str] = Field(
        default_factory=dict,
        description="What each request has, as its token: all users are one there.",
    )
    description: str = Field(
        min_length=1, description="What it can do: the model reads that to choose it."
    )
    timeout_seconds: float = Field(120.0, gt=0, description="Longest silence.")


class ClientSettings(Section):
    """Agents elsewhere that this one may leave tasks to."""

    has_secrets = True  # Headers hold tokens

    remote_agents: dict[
        Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")], RemoteAgent
    ] = Field(
        default_factory=dict,
        description="Agents elsewhere that this one may leave tasks to, by the name of the tool.",
    )
