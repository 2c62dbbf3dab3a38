"""Skills as prompts: what a page offers under `/`, and MCP clients under their own sign.

A `server_prompt` never leaves the server, so such a skill is no prompt here.
"""

import re
from typing import Any

from mcp import MCPError, types

from agui.agents.skills import SkillRegistry, SkillSpec
from agui.contrib.mcp.describe import page_of

PLACEHOLDER = re.compile(r"\{(\w+)\}")


class Prompts:
    """The skills of an agent, for MCP clients."""

    def __init__(self, skills: SkillRegistry) -> None:
        self._skills = {spec.name: spec for spec in skills if spec.server_prompt is None}

    async def list_prompts(self, _: Any, params: Any) -> types.ListPromptsResult:
        page, cursor = page_of(list(self._skills.values()), params and params.cursor)
        prompts = [_describe(spec) for spec in page]
        return types.ListPromptsResult(prompts=prompts, next_cursor=cursor)

    async def get_prompt(
        self, _: Any, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        spec = self.find(params.name)
        given = params.arguments or {}
        missing = [name for name in _arguments(spec) if name not in given]
        if missing:
            raise MCPError(types.INVALID_PARAMS, f"Missing arguments: {', '.join(missing)}")
        words = PLACEHOLDER.sub(lambda match: given[match[1]], spec.request)
        content = types.TextContent(type="text", text=words)
        message = types.PromptMessage(role="user", content=content)
        return types.GetPromptResult(description=spec.description, messages=[message])

    def find(self, name: str) -> SkillSpec:
        """Find a skill. Raises MCPError."""
        if name not in self._skills:
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {name[:64]}")
        return self._skills[name]


def _arguments(spec: SkillSpec) -> dict[str, None]:
    return dict.fromkeys(PLACEHOLDER.findall(spec.request))


def _describe(spec: SkillSpec) -> types.Prompt:
    arguments = [types.PromptArgument(name=name, required=True) for name in _arguments(spec)]
    return types.Prompt(
        name=spec.name,
        title=str(spec.title),
        description=str(spec.description or spec.title),
        arguments=arguments or None,
    )
