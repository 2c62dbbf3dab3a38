from typing import Annotated

from pydantic import Field

from agui.conf_sections import Section


class RemoteAgent(Section):
    """An agent on another server, to which this one may pass a task."""

    url: str = Field(pattern=r"^https?://[^/]", description="The address of its AG-UI endpoint.")
    headers: dict[str, str] = Field(
        default_factory=dict,
        description="The headers of each request, such as its token: the other agent sees all "
        "users as one.",
    )
    description: str = Field(
        min_length=1, description="What the agent can do: the model reads this to choose it."
    )
    timeout_seconds: float = Field(120.0, gt=0, description="Longest silence of the other agent.")


class ClientSettings(Section):
    """Agents on other servers, to which this one may pass tasks."""

    has_secrets = True  # Headers hold tokens

    remote_agents: dict[
        Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")], RemoteAgent
    ] = Field(
        default_factory=dict, description="The other agents, each under the name of its tool."
    )
