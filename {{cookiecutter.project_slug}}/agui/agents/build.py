"""Who answers: the agent, built once for a process, and what a run gives to its tools."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.capabilities import AgentCapability
from pydantic_ai.toolsets import AbstractToolset

from agui import conf, parts
from agui.agents.config import AgentConfig, model_settings
from agui.agents.llm import resolve_model
from agui.deps import AgentDeps
from agui.tools.audit_trail import AuditTrail
from agui.tools.call import build_toolset
from agui.tools.registry import ToolRegistry
from agui.tools.search import SearchManyTools
from agui.tools.toolset import known_names

AgentFactoryFn = Callable[[ToolRegistry, AgentConfig], Agent[AgentDeps, Any]]
"""What AGUI["AGENT_FACTORY"] names: builds the agent instead of `build_agent`'s own code (docs/capabilities.md)."""


def build_agent(registry: ToolRegistry, config: AgentConfig) -> Agent[AgentDeps, Any]:
    """Build the agent. It holds nothing of a user or a run: all requests share it."""
    if factory := conf.get().agent_factory:
        agent: Agent[AgentDeps, Any] = import_string(factory)(registry, config)
        return agent
    return Agent(
        resolve_model(config.model if config.model is not None else settings.AGENT_MODEL),
        name=config.name,
        description=config.description,
        instructions=config.instructions,
        deps_type=AgentDeps,
        # Deferred requests are how a run pauses for an approval.
        output_type=[str, DeferredToolRequests],
        model_settings=model_settings(config),
        retries=config.retries,
        toolsets=collect_toolsets(registry, config),
        capabilities=collect_capabilities(config),
    )


def collect_toolsets(
    registry: ToolRegistry, config: AgentConfig
) -> list[AbstractToolset[AgentDeps]]:
    """All tools: those of the registry, of the config, and of the settings."""
    return [build_toolset(registry), *config.toolsets, *_own_tools(registry, config)]


def collect_capabilities(config: AgentConfig) -> list[AgentCapability[AgentDeps]]:
    return [*config.capabilities, SearchManyTools(), AuditTrail(logger=config.audit_logger)]


def _own_tools(registry: ToolRegistry, config: AgentConfig) -> list[AbstractToolset[AgentDeps]]:
    """The engine's tools, unless the project has one of the same name."""
    taken = known_names(config.toolsets) | {binding.spec.name for binding in registry}
    toolsets: list[AbstractToolset[AgentDeps]] = []
    for part in parts.installed():
        found = part.toolsets(taken)
        taken |= known_names(found)
        toolsets += found
    return toolsets
