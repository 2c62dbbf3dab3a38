"""Skills: prompts written beforehand, shown as chips and in the `/` palette.

    skills = SkillRegistry()
    skills.add("explain", "Explain a topic", "Explain {topic} to a beginner.")
    skills.add("plan_my_day", "Plan my day", server_prompt="List my open tasks ...", chip=True)

The client fills a `prompt` in and sends it. Without a prompt it sends `/plan_my_day`, and the
server replaces that with the skill's words: a `server_prompt` never leaves the server.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SkillSpec:
    """A prompt and how it is offered."""

    name: str
    title: str
    prompt: str | None = None
    """The words that the client sends. They may hold {placeholders} for the user to fill."""
    description: str | None = None
    """A second line in the palette."""
    send_immediately: bool = False
    """Sends the prompt on a click, instead of filling the input."""
    chip: bool = False
    """Shows the skill as a chip, too."""
    server_prompt: str | None = None
    """The words that stay on the server, where they replace `/name`."""
    group: str | None = None
    """A heading in the palette."""

    @property
    def request(self) -> str:
        """The words that replace `/name`; without a prompt, the description or the title."""
        return self.prompt or self.server_prompt or self.description or self.title


class SkillRegistry:
    """An ordered collection of skills."""

    def __init__(self) -> None:
        self._skills: dict[str, SkillSpec] = {}

    def register(self, spec: SkillSpec) -> SkillSpec:
        """Add a skill. Raises ValueError, naming the cure."""
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", spec.name):
            raise ValueError(
                f"Skill {spec.name!r}: a name has 1 to 64 letters, digits, _ or -, as it is typed "
                "after /."
            )
        if spec.name in self._skills:
            raise ValueError(f"Skill {spec.name!r} is added twice: rename one.")
        if not spec.title.strip():
            raise ValueError(
                f"Skill {spec.name!r} has no title: people choose it by that. Write one."
            )
        if spec.prompt and spec.server_prompt:
            raise ValueError(
                f"Skill {spec.name!r} has a prompt and a server_prompt: keep the first to let the "
                "user see and edit the words, or the second to hide them."
            )
        self._skills[spec.name] = spec
        return spec

    def add(
        self,
        name: str,
        title: str,
        prompt: str | None = None,
        *,
        description: str | None = None,
        send_immediately: bool = False,
        chip: bool = False,
        server_prompt: str | None = None,
        group: str | None = None,
    ) -> SkillSpec:
        """Add a skill by its fields, which SkillSpec explains."""
        spec = SkillSpec(
            name, title, prompt, description, send_immediately, chip, server_prompt, group
        )
        return self.register(spec)

    def payload(self) -> list[dict[str, Any]]:
        """The answer to `GET skills/`: without defaults, and without what stays on the server."""
        return [_entry(spec) for spec in self]

    def resolve(self, text: str) -> str:
        """Replace `/name ...` with a skill's words; any other text stays as it is.

        Further words fill the prompt's placeholder, or follow the prompt.
        """
        typed = re.fullmatch(r"\s*/([a-zA-Z0-9_-]+)(?:\s+(.*))?", text, re.DOTALL)
        if typed is None or typed[1] not in self._skills:
            return text
        spec = self._skills[typed[1]]
        words = (typed[2] or "").strip()
        if not words:
            return spec.request
        filled, count = re.subn(r"\{\w+\}", lambda _: words, spec.request, count=1)
        return filled if count else f"{spec.request}\n\n{words}"

    def __iter__(self) -> Iterator[SkillSpec]:
        return iter(self._skills.values())

    def __len__(self) -> int:
        return len(self._skills)

    def __contains__(self, name: object) -> bool:
        return name in self._skills


def _entry(spec: SkillSpec) -> dict[str, Any]:
    entry = {
        "name": spec.name,
        "title": spec.title,
        "description": spec.description,
        "group": spec.group,
        "prompt": spec.prompt,
        "sendImmediately": spec.send_immediately,
        "chip": spec.chip,
    }
    return {key: value for key, value in entry.items() if value}
