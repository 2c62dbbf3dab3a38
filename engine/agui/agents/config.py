"""The configuration of an agent: everything that makes it, apart from its tools."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from pydantic import BaseModel
from pydantic_ai.capabilities import AgentCapability
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.usage import UsageLimits

from agui import conf
from agui.deps import AgentDeps
from agui.tools.audit import AuditLogger, resolve_audit_logger

DEFAULT_SYSTEM_PROMPT = (
    "You are a helpful assistant inside a web application. Use the tools to look things up and to "
    "act; never invent what a tool could tell you. Answer briefly, in the user's language, as "
    "Markdown. Call a tool as soon as the user wants what it does, also if it deletes, sends or "
    "pays for something: the application itself asks the user for approval before such a tool "
    "runs. So don't refuse such a tool, and don't ask for permission in your answer. When a tool "
    "fails or is denied, say so plainly."
)
"""The instructions of an agent that has none of its own. The third sentence is why the model calls
destructive tools directly: the server asks the user.
"""


# What pydantic-ai's Agent calls otherwise, or has and an endpoint has not.
CURES = {
    "tools": "register functions with @tool(registry), or pass toolsets=[FunctionToolset(...)]",
    "system_prompt": "its name is instructions",
    "prepare_tools": "pass capabilities=[PrepareTools(...)]",
    "deps_type": "tools get agui.AgentDeps, and state_type is the type of ctx.deps.state",
}


@dataclass(frozen=True)
class AgentConfig:
    """Everything that makes an agent, apart from its tools."""

    instructions: str | Sequence[str | Callable[..., Any]] = DEFAULT_SYSTEM_PROMPT
    model: Model | str | None = None
    """A pydantic-ai model, or its name (see llm.py); None is settings.AGENT_MODEL."""
    models: Mapping[str, Model | str] | Sequence[str] = ()
    """The choices of `forwardedProps.model`: models, or models by name."""
    name: str = "assistant"
    description: str | None = None
    state_type: type[BaseModel] | None = None
    """A pydantic model with defaults for all fields: `ctx.deps.state` is one."""
    model_settings: ModelSettings | None = None
    limits: UsageLimits | None = None
    """Limits of one run; None is AGUI["LIMITS"]."""
    retries: int = 2
    """The times that a model may correct a wrong tool call before the run fails."""
    toolsets: Sequence[AbstractToolset[AgentDeps]] = ()
    capabilities: Sequence[AgentCapability[AgentDeps]] = ()
    """Changes of how the agent works. The first is the outermost.

    A function of the run's context makes a capability for each run.
    """
    audit_logger: AuditLogger | None = None
    """The recorder of this agent's tool calls; None is AGUI["AUDIT_LOGGER"]."""

    def __new__(cls, *args: Any, **options: Any) -> Self:
        for name in options:
            if name not in cls.__dataclass_fields__:
                known = ", ".join(cls.__dataclass_fields__)
                cure = CURES.get(name, f"use one of {known}")
                raise TypeError(f"AgentConfig has no option {name!r}: {cure}.")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        if self.audit_logger is not None:
            resolve_audit_logger(self.audit_logger)  # Raises if it can't record


def model_settings(config: AgentConfig) -> ModelSettings:
    """Add a deadline for a silent model to the configuration's settings."""
    settings = ModelSettings()
    seconds = conf.get().model_timeout_seconds
    if seconds is not None:
        settings = ModelSettings(first_event_timeout=seconds, timeout=seconds)
    return {**settings, **(config.model_settings or {})}


def usage_limits(config: AgentConfig) -> UsageLimits:
    """Find what one run may use."""
    if config.limits is not None:
        return config.limits
    limits = conf.get().limits
    return UsageLimits(
        request_limit=limits.requests,
        tool_calls_limit=limits.tool_calls,
        total_tokens_limit=limits.total_tokens,
        input_tokens_limit=limits.input_tokens,
        output_tokens_limit=limits.output_tokens,
        per_request_input_tokens_limit=limits.request_input_tokens,
        count_tokens_before_request=limits.count_tokens,
        cost_limit=limits.cost,
    )
