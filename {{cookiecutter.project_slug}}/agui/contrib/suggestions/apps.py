from typing import Any

from agui.parts import Addition, Part


class SuggestionsConfig(Part):
    name = "agui.contrib.suggestions"
    label = "agui_suggestions"
    verbose_name = "Agent: suggestions"

    async def add_to_answer(self, run: Any, answer: str) -> list[Addition]:
        # This import loads pydantic-ai, which start-up doesn't need.
        from agui.contrib.suggestions.follow_ups import suggest

        texts = await suggest(run, answer)
        if not texts:
            return []
        return [Addition("follow_ups", "suggestions", texts)]
