"""Tools for every contestant, beside those of the project: `echo`, which the model calls, and others.

BENCHMARK_TOOLS says how many.
"""

import os
from collections.abc import Callable


def echo(text: str) -> str:
    """Say the text again."""
    return text


def numbered(number: int) -> Callable[..., str]:
    def look_up(city: str, day: int, detailed: bool = False) -> str:
        """Look something up that a city has on a day."""
        return f"{city} {day}"

    look_up.__name__ = f"look_up_{number}"
    return look_up


more_tools = [echo, *map(numbered, range(1, 100))][: int(os.environ.get("BENCHMARK_TOOLS", "0"))]
