"""The agent itself, built once for a process from its tools, configuration and the settings."""

from collections.abc import Callable
from typing import Any

from django.utils.module_loading import import_string
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.capabilities import AgentCapability
from pydantic_ai.toolsets import AbstractToolset

from agui import conf, parts
from agui.agents.config import AgentConfig, model_settings
from agui.agents.hooks import Hooks
from agui.agents.llm import resolve_model
from agui.deps import AgentDeps
from agui.tools.call import build_toolset
from agui.tools.registry import ToolRegistry
from agui.tools.toolset import Toolset, check_names, known_names

AgentFactoryFn = Callable[[ToolRegistry, AgentConfig], Agent[AgentDeps, Any]]
"""Builds the agent instead of `build_agent`, if AGUI["AGENT_FACTORY"] names it.

See agui/manual/agent.md.
"""


def build_agent(registry: ToolRegistry, config: AgentConfig) -> Agent[AgentDeps, Any]:
    """Build the agent. All requests share it, so it holds nothing of a user or a run.

    Raises ImproperlyConfigured if its model can't be used.
    """
    factory = conf.get().agent_factory
    if factory:
        agent: Agent[AgentDeps, Any] = import_string(factory)(registry, config)
        return agent
    model = config.model
    if model is None:
        model = conf.agent_model()
    return Agent(
        resolve_model(model),
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
    """Collect the tools of the registry, the configuration and the parts.

    A part leaves out its own tool if the project has a tool of the same name. Raises
    ImproperlyConfigured if the project itself has two tools of one name.
    """
    own = build_toolset(registry)
    toolsets: list[AbstractToolset[AgentDeps]] = [own, *config.toolsets]
    check_names(toolsets)
    names = known_names(toolsets)
    for part in parts.installed():
        added = part.toolsets(names)
        names |= known_names(added)
        for toolset in added:
            if isinstance(toolset, Toolset):
                # In one toolset: pydantic-ai asks each one in a task of its own.
                for tool in toolset.tools.values():
                    own.add_tool(tool)
            else:
                toolsets.append(toolset)
    return toolsets


def collect_capabilities(config: AgentConfig) -> list[AgentCapability[AgentDeps]]:
    """Collect the capabilities of the configuration and the engine's hooks."""
    return [*config.capabilities, Hooks(logger=config.audit_logger)]
