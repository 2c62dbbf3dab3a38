"""The agent as its clients see it: what `GET tools/` and `GET capabilities/` answer."""

from collections.abc import Iterable, Sequence
from typing import Any

from agui import conf
from agui.agent import AgentConfig, usage_limits
from agui.stores import store_class
from agui.tools import ToolBinding, ToolCategory, needs_confirmation


def build_tool_catalog(tools: Iterable[ToolBinding]) -> list[dict[str, Any]]:
    """List the tools of a registry, without keys that say nothing."""
    return [_entry(binding) for binding in tools]


def _entry(binding: ToolBinding) -> dict[str, Any]:
    spec = binding.spec
    entry = {
        "name": spec.name,
        "summary": spec.label,
        "description": spec.description,
        "category": str(spec.category) if spec.category != ToolCategory.OTHER else None,
        "destructive": spec.destructive,
        "confirm": spec.confirm,
    }
    return {key: value for key, value in entry.items() if value}


def build_capabilities(config: AgentConfig, tools: Sequence[ToolBinding]) -> dict[str, Any]:
    """Describe this very agent as AG-UI's AgentCapabilities, with the tools that the asking user may use."""
    settings = conf.get()
    has_tools, has_threads = bool(tools or config.toolsets), store_class().keeps_threads
    seconds, requests = settings.run_timeout_seconds, usage_limits(config).request_limit
    limits = {"maxIterations": requests, "maxExecutionTime": None if seconds is None else round(seconds * 1000)}
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
        "state": {"snapshots": True, "deltas": True, "memory": False, "persistentState": has_threads},
        "reasoning": {"supported": settings.send_reasoning, "streaming": settings.send_reasoning, "encrypted": False},
        "execution": {"codeExecution": False, **{key: value for key, value in limits.items() if value is not None}},
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
        **({"transcription": True} if conf.get().transcription else {}),
    }


def _definition(binding: ToolBinding) -> dict[str, Any]:
    return {
        "name": binding.spec.name,
        "description": binding.spec.description,
        "parameters": binding.input_schema,
    }
