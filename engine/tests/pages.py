"""The pages of the manual, which comes with the engine."""

from pathlib import Path

import agui

MANUAL = Path(agui.__file__).parent / "manual"


def read(name: str) -> str:
    return (MANUAL / name).read_text("utf-8")
