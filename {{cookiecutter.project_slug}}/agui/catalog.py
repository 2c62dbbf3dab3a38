"""The tools as people see them: what `GET tools/` answers."""

from collections.abc import Iterable
from typing import Any

from agui.tools import ToolBinding, ToolCategory


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
