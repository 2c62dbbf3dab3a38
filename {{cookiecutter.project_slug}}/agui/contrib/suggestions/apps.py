from typing import Any

from agui.parts import Addition, Part


class SuggestionsConfig(Part):
    name = "agui.contrib.suggestions"
    label = "agui_suggestions"
    verbose_name = "Agent: suggestions"

    async def add_to_answer(self, run: Any, answer: str) -> list[Addition]:
        # It needs pydantic-ai, and start-up does not
        from agui.contrib.suggestions.follow_ups import suggest

        texts = await suggest(run, answer)
        return [Addition("follow_ups", "suggestions", texts)] if texts else []
