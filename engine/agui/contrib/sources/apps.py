from contextlib import AbstractContextManager
from typing import Any

from agui.part_values import Addition
from agui.parts import Part


class SourcesConfig(Part):
    name = "agui.contrib.sources"
    label = "agui_sources"
    verbose_name = "Agent: sources"
    page_modules = {"metadata:sources": "agui_sources/sources.js"}

    # These imports load pydantic-ai, which start-up doesn't need.

    def run_context(self, run: Any) -> AbstractContextManager[Any]:
        from agui.contrib.sources.cite import numbering
        from agui.contrib.sources.cited import named_by_tools

        return numbering(named_by_tools(run))

    async def add_to_answer(self, run: Any, answer: str) -> list[Addition]:
        from agui.contrib.sources.cited import sources_of

        rows = sources_of(run)
        if not answer or not rows:
            return []
        return [Addition("sources", "sources", rows)]
