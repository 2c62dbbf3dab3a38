"""The pages of the manual, which comes with the engine."""

import re
from pathlib import Path
from typing import Any

import agui

MANUAL = Path(agui.__file__).parent / "manual"


def read(name: str) -> str:
    return (MANUAL / name).read_text("utf-8")


def section(name: str, heading: str = "") -> str:
    """A section of a page; without a heading, the page's beginning."""
    text = read(name).split(f"## {heading}\n")[1] if heading else read(name)
    return text.split("\n## ")[0]


def example(name: str, heading: str = "", number: int = 0) -> dict[str, Any]:
    """What a program of a section defines."""
    code = re.findall(r"```python\n(.*?)```", section(name, heading), re.S)[number]
    defined: dict[str, Any] = {"__name__": heading}
    exec(compile(code, heading, "exec"), defined)  # noqa: S102
    return defined
