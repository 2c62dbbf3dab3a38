from typing import Any

from agui.part_values import Addition
from agui.parts import Part


class SuggestionsConfig(Part):
    name = "agui.contrib.suggestions"
    label = "agui_suggestions"
    verbose_name = "Agent: suggestions"
    page_modules = {"last:follow_ups": "agui_suggestions/suggestions.js"}

    async def add_to_answer(self, run: Any, answer: str) -> list[Addition]:
        if not answer:
            return []
        # This import loads pydantic-ai, which start-up doesn't need.
        from agui.contrib.suggestions.follow_ups import suggest

        texts = await suggest(run, answer)
        if not texts:
            return []
        return [Addition("follow_ups", "suggestions", texts)]
