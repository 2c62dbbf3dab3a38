"""What a user approves: a call of a tool as it is defined now, with all that the tool will get.

An approval holds for the definition that the user was asked with. When a deploy, or another server,
has changed the tool's name, arguments or question since, the user is asked again.
"""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import ApprovalRequired, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_jsonable_python

from agui.tools.schema import PARAMETERS_KEY, X_SUMMARY_KEY, prettify

GONE = "This tool is no longer there. Nothing was done."
# In the metadata of an answer: the digest of the definition that the user was asked with.
DEFINITION_KEY = "definition"


@dataclass(frozen=True)
class Asked:
    """What a user is told of a call, and what their answer holds for."""

    definition: str
    """A digest of the tool's definition."""
    told: dict[str, Any]
    """What an interrupt tells of the tool, unless the tool itself says something else."""
    arguments: str
    """All that the tool will get, as JSON: defaults included, the rest as the model wrote it."""


@dataclass
class HoldApprovals(AbstractCapability[Any]):
    """Notes how each tool is defined when it is called, and asks again before a tool that has changed."""

    asked: dict[str, Asked] = field(default_factory=dict)
    """By tool call id."""

    async def after_tool_validate(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
    ) -> dict[str, Any]:
        definition = digest(tool_def)
        self.asked[call.tool_call_id] = Asked(
            definition, describe(tool_def), all_arguments(call, args)
        )
        if ctx.tool_call_approved:
            if tool_def.kind == "external":
                # A client's tool has the name now: that one was not approved
                raise ToolFailed(GONE)
            if (ctx.tool_call_metadata or {}).get(DEFINITION_KEY) != definition:
                raise ApprovalRequired()
        return args


def describe(tool_def: ToolDefinition) -> dict[str, Any]:
    """What an interrupt tells of a tool by itself."""
    keys = {key: value for key, value in (tool_def.metadata or {}).items() if key.startswith("x-")}
    return {
        X_SUMMARY_KEY: prettify(tool_def.name),
        **keys,
        "toolName": tool_def.name,
        PARAMETERS_KEY: tool_def.parameters_json_schema,
    }


def digest(tool_def: ToolDefinition) -> str:
    """The definition in short: equal for tools of the same name, arguments and question."""
    text = json.dumps(describe(tool_def), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def all_arguments(call: ToolCallPart, validated: dict[str, Any]) -> str:
    """The arguments in JSON, as the model wrote them, with the defaults that the tool adds."""
    try:
        given = call.args_as_dict(raise_if_invalid=True)
        whole = to_jsonable_python(
            validated,
            by_alias=True,
            fallback=str,
            inf_nan_mode="null",
            bytes_mode="base64",
            serialize_unknown=True,
        )
        return json.dumps(completed(given, whole), ensure_ascii=False)
    except (ValueError, AssertionError, RecursionError):
        return call.args_as_json_str()


def completed(given: Any, whole: Any) -> Any:
    """Add to what was given what is missing of the whole."""
    if isinstance(given, dict) and isinstance(whole, dict):
        mine = {key: completed(value, whole.get(key)) for key, value in given.items()}
        return mine | {key: value for key, value in whole.items() if key not in given}
    if isinstance(given, list) and isinstance(whole, list) and len(given) == len(whole):
        return [completed(value, other) for value, other in zip(given, whole, strict=True)]
    return given
