"""The agent as its clients see it: what `GET tools/` and `GET capabilities/` answer."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic_ai import Agent, RunContext, Tool
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.usage import RunUsage

from agui import conf, parts
from agui.agents.config import AgentConfig, usage_limits
from agui.deps import AgentDeps
from agui.stores.base import store_class
from agui.tools.approval import needs_confirmation
from agui.tools.registry import ToolBinding
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

# So long a toolset of the project may take to list its tools.
LIST_SECONDS = 5


def build_tool_catalog(tools: Iterable[ToolBinding]) -> list[dict[str, Any]]:
    """List the tools of a registry, without keys that say nothing."""
    return [_entry(binding) for binding in tools]


async def list_toolsets(
    agent: Agent[AgentDeps, Any], config: AgentConfig, user: Any
) -> list[ToolBinding]:
    """Describe the tools that are in no registry, as a run of this user would get them."""
    found: list[ToolBinding] = []
    for toolset in agent.toolsets:
        if isinstance(toolset, ListedToolset):
            found += await toolset.bindings(user)
        elif any(toolset is own for own in config.toolsets):
            found += await _list_toolset(toolset, agent, config, user)
    return found


async def _list_toolset(
    toolset: AbstractToolset[AgentDeps],
    agent: Agent[AgentDeps, Any],
    config: AgentConfig,
    user: Any,
) -> list[ToolBinding]:
    """Ask a toolset. One that fails or does not answer is logged, and left out."""
    model: Any = agent.model
    deps = AgentDeps(
        user, thread_id="", run_id="", state=config.state_type() if config.state_type else {}
    )
    context = RunContext(deps=deps, model=model, usage=RunUsage(), agent=agent)
    try:
        async with asyncio.timeout(LIST_SECONDS):
            own = await toolset.for_run(context)
            async with own:
                tools = await own.get_tools(context)
    except Exception:
        logger.exception(
            "The toolset %s of the agent can't list its tools: they are left out.", toolset.label
        )
        return []
    return [_bind(tool.tool_def) for tool in tools.values()]


def _bind(definition: ToolDefinition) -> ToolBinding:
    told = definition.metadata or {}
    spec = ToolSpec(
        name=definition.name,
        fn=_elsewhere,
        description=definition.description or "",
        destructive=bool(told.get(X_DESTRUCTIVE_KEY)),
        category=told.get(X_CATEGORY_KEY, ToolCategory.OTHER),
        confirm=told.get(X_CONFIRM_KEY),
        summary=told.get(X_SUMMARY_KEY),
        requires_approval=definition.kind == "unapproved",
        metadata=definition.metadata,
    )
    schema = definition.parameters_json_schema
    return ToolBinding(
        spec, schema, Tool.from_schema(_elsewhere, spec.name, spec.description, schema)
    )


def _elsewhere(**arguments: Any) -> Any:
    raise NotImplementedError("The toolset itself calls its tools.")


def _entry(binding: ToolBinding) -> dict[str, Any]:
    spec = binding.spec
    entry = {
        "name": spec.name,
        "summary": spec.label,
        "description": (spec.metadata or {}).get(X_DESCRIPTION_KEY) or spec.description,
        "category": str(spec.category) if spec.category != ToolCategory.OTHER else None,
        "destructive": spec.destructive,
        "confirm": spec.confirm,
        "secrets": secret_paths(binding.input_schema),
    }
    return {key: value for key, value in entry.items() if value}


def build_capabilities(config: AgentConfig, tools: Sequence[ToolBinding]) -> dict[str, Any]:
    """Describe this very agent as AG-UI's AgentCapabilities, with the tools that the asking user may use."""
    settings = conf.get()
    has_tools, has_threads = bool(tools or config.toolsets), store_class().keeps_threads
    seconds, requests = settings.run_timeout_seconds, usage_limits(config).request_limit
    limits = {
        "maxIterations": requests,
        "maxExecutionTime": None if seconds is None else round(seconds * 1000),
    }
    return {
        "identity": {"name": config.name, "type": "pydantic-ai"}
        | ({"description": config.description} if config.description else {}),
        "transport": {
            "streaming": True,
            "websocket": False,
            "httpBinary": False,
            "pushNotifications": False,
            "resumable": True,
        },
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
        "execution": {
            "codeExecution": False,
            **{key: value for key, value in limits.items() if value is not None},
        },
        # What is asked has to be kept until it is answered.
        "humanInTheLoop": {
            "supported": has_threads,
            "approvals": has_threads and any(needs_confirmation(binding.spec) for binding in tools),
            "interventions": False,
            "feedback": False,
            "interrupts": has_threads,
            "approveWithEdits": has_threads,
        },
        **({"custom": custom} if (custom := _custom(config)) else {}),
    }


def _custom(config: AgentConfig) -> dict[str, Any]:
    """What AG-UI has no word for."""
    return {
        # By which names of models a client may ask for one, with `forwardedProps.model`.
        **({"models": list(config.models)} if config.models else {}),
        **{
            name: value
            for part in parts.installed()
            for name, value in part.client_capabilities().items()
        },
    }


def _definition(binding: ToolBinding) -> dict[str, Any]:
    return {
        "name": binding.spec.name,
        "description": binding.spec.description,
        "parameters": binding.input_schema,
    }
