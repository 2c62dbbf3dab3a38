"""A user approves a call of a tool as it is defined now, with all of its arguments.

An approval holds for the definition that the user was asked about. If a deploy or another server
has changed the tool's name, arguments or question since, the user is asked again. A question that
was made from the arguments holds for these arguments: if the user changes them, the tool asks anew.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from pydantic_ai import ApprovalRequired
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_jsonable_python

from agui.tools.schema import PARAMETERS_KEY, X_SUMMARY_KEY, prettify

GONE = "This tool no longer exists. Nothing was done."
# In the metadata of an answer: the digest of the definition that the user was asked about.
DEFINITION_KEY = "definition"
# There, too: the question was made from the arguments, and the user has changed them since.
OWN_WORDS_KEY = "own_words"
CHANGED_KEY = "changed"


@dataclass(frozen=True)
class Asked:
    """The question about a call, and the definition that the user's answer holds for."""

    definition: str
    """A digest of the tool's definition."""
    defaults: dict[str, Any]
    """The tool's data in an interrupt, unless the tool itself sends other data."""
    arguments: str
    """All arguments as JSON: as the model wrote them, with the defaults."""
    had_own_words: bool = False
    """Whether the question that the user has answered was made from the arguments."""


def describe_call(
    call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any], answered: dict[str, Any]
) -> Asked:
    """Describe a call, as its tool is defined now.

    `args` are the validated arguments, and `answered` is the metadata of the user's answer.
    """
    own_words = bool(answered.get(OWN_WORDS_KEY))
    return Asked(digest(tool_def), describe(tool_def), all_arguments(call, args), own_words)


def has_own_words(defaults: dict[str, Any], metadata: dict[str, Any]) -> bool:
    """Whether a tool has asked in words that its definition does not have."""
    own = {key: value for key, value in metadata.items() if value and key != PARAMETERS_KEY}
    return any(defaults.get(key) != value for key, value in own.items())


def check_approval(tool_def: ToolDefinition, asked: Asked, metadata: dict[str, Any]) -> None:
    """Check that the user has approved the tool as it is defined now.

    `metadata` is that of the approval. Raises ApprovalRequired if the tool has changed, so that the
    user is asked again, and ToolFailed if the tool is gone.
    """
    if tool_def.kind == "external":
        # A client's tool has the name now, and the user did not approve that tool.
        raise ToolFailed(GONE)
    if metadata.get(DEFINITION_KEY) != asked.definition:
        raise ApprovalRequired()


def describe(tool_def: ToolDefinition) -> dict[str, Any]:
    """Describe a tool for an interrupt."""
    defaults: dict[str, Any] = {X_SUMMARY_KEY: prettify(tool_def.name)}
    for key, value in (tool_def.metadata or {}).items():
        if key.startswith("x-"):
            defaults[key] = value
    defaults["toolName"] = tool_def.name
    defaults[PARAMETERS_KEY] = tool_def.parameters_json_schema
    return defaults


def digest(tool_def: ToolDefinition) -> str:
    """Digest a definition: equal for tools with the same name, arguments and question."""
    # A summary or a question may be a lazy translation, which is no JSON.
    text = json.dumps(describe(tool_def), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def all_arguments(call: ToolCallPart, validated: dict[str, Any]) -> str:
    """Write the arguments as JSON: as the model wrote them, with the tool's defaults."""
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
    """Add to the given values those that only the whole has, at any depth."""
    if isinstance(given, dict) and isinstance(whole, dict):
        result = {key: completed(value, whole.get(key)) for key, value in given.items()}
        for key, value in whole.items():
            result.setdefault(key, value)
        return result
    if isinstance(given, list) and isinstance(whole, list) and len(given) == len(whole):
        return list(map(completed, given, whole))
    return given
