"""Do what a page of the manual says, word for word: its edits, its commands and what they print.

The sentence before a block says what to do with it: "Add this to the end of `file`", "Create `file`", "Write `file`"
(over what is there), or "In `file`, replace the line `old` with"; commands need none. What a command "prints `like
this`", says the sentence after it. "In `file`, remove everything from the line `first` on" needs no block, and is done
before all others.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from projects import execute

REMOVAL = re.compile(r"In `([^`]+)`, remove everything from the line `([^`]+)` on\.")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


class Step(NamedTuple):
    says: str
    language: str
    code: str
    after: str


class Section(NamedTuple):
    title: str
    text: str

    @property
    def steps(self) -> list[Step]:
        prose = BLOCK.split(self.text)
        paragraphs = [[" ".join(one.split()) for one in text.strip().split("\n\n")] for text in prose[::3]]
        blocks = zip(paragraphs, prose[1::3], prose[2::3], paragraphs[1:], strict=False)
        return [Step(before[-1], language, code, after[0]) for before, language, code, after in blocks]

    @property
    def commands(self) -> list[str]:
        return "".join(step.code for step in self.steps if step.language == "sh").splitlines()

    @property
    def prompts(self) -> list[str]:
        """What to ask in the chat: list items that are code and nothing else."""
        return re.findall(r"^- `(.+)`$", self.text, re.M)

    def follow(self, project: Path, skip: Callable[[str], bool] = lambda command: False) -> None:
        """Do all its edits and commands in this project, in their order."""
        for name, first in REMOVAL.findall(" ".join(self.text.split())):
            lines = (project / name).read_text().splitlines(keepends=True)
            [number] = [number for number, line in enumerate(lines) if line.strip() == first]
            (project / name).write_text("".join(lines[:number]).rstrip("\n") + "\n")
        for step in self.steps:
            if step.language == "sh":
                printed = "".join(run(project, command) for command in step.code.splitlines() if not skip(command))
                for words in re.findall(r"prints `([^`]+)`", step.after):
                    assert words in printed, printed
            else:
                edit(project, step)


def sections(page: Path) -> dict[str, Section]:
    parts = re.split(r"^## (.*)\n", page.read_text(), flags=re.M)
    return {title: Section(title, text) for title, text in zip(parts[1::2], parts[2::2], strict=True)}


def run(project: Path, command: str) -> str:
    return execute(project, "bash", "-ec", command).stdout


def edit(project: Path, step: Step) -> None:
    instruction = re.search(r"((?i:add) this to the end of|Create|[Ww]rite|In) (`.*)", step.says)
    assert instruction, f"What is to be done with this block? {step.says}"
    what, where = instruction.groups()
    what = what.lower()
    name, *lines = re.findall(r"`([^`]+)`", where)
    path = project / name
    if what in {"create", "write"}:
        assert path.exists() == (what == "write"), name
        path.write_text(step.code)
    elif what.startswith("add"):
        blank = "\n\n" if step.language == "python" and re.match("@|class |def ", step.code) else "\n"
        path.write_text(path.read_text().rstrip("\n") + "\n" + blank + step.code)
    else:
        old = lines[0]
        there = path.read_text().splitlines(keepends=True)
        assert "replace" in where
        [line] = [line for line in there if line.strip() == old.strip()]
        path.write_text("".join(step.code if one is line else one for one in there))
