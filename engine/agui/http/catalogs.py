"""The catalogs of an agent: what `GET tools/` and `GET capabilities/` answer."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic_ai import Agent, RunContext, Tool
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.usage import RunUsage

from agui import conf, parts
from agui.actor import Actor
from agui.agents.config import AgentConfig, usage_limits
from agui.agents.endpoint import Endpoint
from agui.deps import AgentDeps
from agui.stores.base import store_class
from agui.tools.approval import is_permitted, needs_confirmation
from agui.tools.registry import ToolBinding, ToolRegistry
from agui.tools.schema import (
    X_CATEGORY_KEY,
    X_CONFIRM_KEY,
    X_DESCRIPTION_KEY,
    X_DESTRUCTIVE_KEY,
    X_SUMMARY_KEY,
    ToolCategory,
    ToolSpec,
)
from agui.tools.secret_arguments import secret_paths
from agui.tools.toolset import ListedToolset

logger = logging.getLogger("agui.tools")

# A toolset of the project may take this long to list its tools.
LIST_SECONDS = 5
TRANSPORT = {
    "streaming": True,
    "websocket": False,
    "httpBinary": False,
    "pushNotifications": False,
    "resumable": True,
}


def build_tool_catalog(tools: Iterable[ToolBinding]) -> list[dict[str, Any]]:
    """Describe tools for a page, as `GET tools/` does.

    An entry has `name`, `summary` and, if they have a value, `description`, `category`,
    `destructive`, `confirm` and `secrets` (paths of arguments to hide).
    """
    return [_entry(binding) for binding in tools]


async def all_permitted_tools(endpoint: Endpoint, actor: Actor) -> list[ToolBinding]:
    """List the permitted tools of an agent's registry and of its toolsets."""
    others = await list_toolsets(endpoint.agent, endpoint.config, actor.user)
    return [*await permitted_tools(endpoint.registry, actor), *others]


async def permitted_tools(registry: ToolRegistry, actor: Actor) -> list[ToolBinding]:
    return [binding for binding in registry if await is_permitted(binding.spec, actor.user)]


async def list_toolsets(
    agent: Agent[AgentDeps, Any], config: AgentConfig, user: Any
) -> list[ToolBinding]:
    """List the tools that are in no registry, as a run of this user would get them."""
    bindings: list[ToolBinding] = []
    for toolset in agent.toolsets:
        if isinstance(toolset, ListedToolset):
            bindings += await toolset.bindings(user)
        elif any(toolset is configured for configured in config.toolsets):
            bindings += await _list_toolset(toolset, agent, config, user)
    return bindings


async def _list_toolset(
    toolset: AbstractToolset[AgentDeps],
    agent: Agent[AgentDeps, Any],
    config: AgentConfig,
    user: Any,
) -> list[ToolBinding]:
    """List the tools of one toolset. If it fails or does not answer, log that and list none."""
    model: Any = agent.model
    state: Any = config.state_type() if config.state_type else {}
    deps = AgentDeps(user, thread_id="", run_id="", state=state)
    context = RunContext(deps=deps, model=model, usage=RunUsage(), agent=agent)
    try:
        async with asyncio.timeout(LIST_SECONDS):
            toolset_of_run = await toolset.for_run(context)
            async with toolset_of_run:
                tools = await toolset_of_run.get_tools(context)
    except Exception:
        logger.exception(
            "Leaving out the tools of %s from the catalog: listing them failed", toolset.label
        )
        return []
    return [_bind(tool.tool_def) for tool in tools.values()]


def _bind(definition: ToolDefinition) -> ToolBinding:
    metadata = definition.metadata or {}
    spec = ToolSpec(
        name=definition.name,
        fn=_refuse_call,
        description=definition.description or "",
        destructive=bool(metadata.get(X_DESTRUCTIVE_KEY)),
        category=metadata.get(X_CATEGORY_KEY, ToolCategory.OTHER),
        confirm=metadata.get(X_CONFIRM_KEY),
        summary=metadata.get(X_SUMMARY_KEY),
        requires_approval=definition.kind == "unapproved",
        metadata=definition.metadata,
    )
    schema = definition.parameters_json_schema
    tool = Tool.from_schema(_refuse_call, spec.name, spec.description, schema)
    return ToolBinding(spec, schema, tool)


def _refuse_call(**arguments: Any) -> Any:
    raise NotImplementedError("The toolset itself calls its tools.")


def _entry(binding: ToolBinding) -> dict[str, Any]:
    spec = binding.spec
    metadata = spec.metadata or {}
    has_category = spec.category != ToolCategory.OTHER
    entry = {
        "name": spec.name,
        "summary": spec.label,
        "description": metadata.get(X_DESCRIPTION_KEY) or spec.description,
        "category": str(spec.category) if has_category else None,
        "destructive": spec.destructive,
        "confirm": None if callable(spec.confirm) else spec.confirm,
        "secrets": secret_paths(binding.input_schema),
    }
    return {key: value for key, value in entry.items() if value}


def build_capabilities(config: AgentConfig, tools: Sequence[ToolBinding]) -> dict[str, Any]:
    """Describe an agent as AG-UI's AgentCapabilities, with the tools that a user may use."""
    settings = conf.get()
    has_tools = bool(tools or config.toolsets)
    has_threads = store_class().keeps_threads
    asks_approval = any(needs_confirmation(binding.spec) for binding in tools)
    capabilities: dict[str, Any] = {
        "identity": _identity(config),
        "transport": TRANSPORT,
        "tools": {
            "supported": has_tools,
            "items": [_definition(binding) for binding in tools],
            "parallelCalls": has_tools,
            "clientProvided": True,
        },
        "state": {
            "snapshots": True,
            "deltas": True,
            "memory": False,
            "persistentState": has_threads,
        },
        "reasoning": {
            "supported": settings.send_reasoning,
            "streaming": settings.send_reasoning,
            "encrypted": False,
        },
        "execution": {"codeExecution": False, **_limits(config)},
        # A question has to be kept until it is answered.
        "humanInTheLoop": {
            "supported": has_threads,
            "approvals": has_threads and asks_approval,
            "interventions": False,
            "feedback": False,
            "interrupts": has_threads,
            "approveWithEdits": has_threads,
        },
    }
    custom = _custom(config)
    if custom:
        capabilities["custom"] = custom
    return capabilities


def _identity(config: AgentConfig) -> dict[str, str]:
    identity = {"name": config.name, "type": "pydantic-ai"}
    if config.description:
        identity["description"] = config.description
    return identity


def _limits(config: AgentConfig) -> dict[str, int]:
    limits = {}
    max_requests = usage_limits(config).request_limit
    max_seconds = conf.get().run_timeout_seconds
    if max_requests is not None:
        limits["maxIterations"] = max_requests
    if max_seconds is not None:
        limits["maxExecutionTime"] = round(max_seconds * 1000)
    return limits


def _custom(config: AgentConfig) -> dict[str, Any]:
    """Describe what AG-UI has no key for."""
    custom: dict[str, Any] = {}
    if config.models:
        # A client may ask for a model by one of these names, with `forwardedProps.model`.
        custom["models"] = list(config.models)
    for part in parts.installed():
        custom |= part.client_capabilities()
    return custom


def _definition(binding: ToolBinding) -> dict[str, Any]:
    return {
        "name": binding.spec.name,
        "description": binding.spec.description,
        "parameters": binding.input_schema,
    }
