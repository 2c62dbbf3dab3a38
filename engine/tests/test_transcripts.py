"""Play what is in `transcripts/`: each transcript is a test of this module, named after its sentence."""

import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps

pytest.importorskip("yaml")

from daily import at_night, by_day

from tests.playing import Player
from tests.transcript_files import Transcript, read

# pydantic-ai says as Python warnings which parts of a message it has left out.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

# What parts need beside their line in the settings.
LIBRARIES = {"mcp": "fastmcp", "drf_mcp": "rest_framework_mcp"}
FOLDER = Path(__file__).parent / "transcripts"


def test_of(transcript: Transcript) -> Callable[..., Any]:
    """Make the test that plays a transcript."""

    async def play(user: Any, other: Any, settings: Any, caplog: Any, request: Any, row: dict[str, Any]) -> None:
        has_time = "'later':" in f"{transcript.steps}{transcript.rows}"
        clock = request.getfixturevalue("clock") if has_time else None
        await Player(transcript, {"ada": user, "bob": other}, settings, caplog, clock).play(row)

    play.__doc__ = transcript.sentence
    rows: list[Any] = transcript.rows or [{}]
    ids = [", ".join(str(value)[:40] for value in row.values()) or "once" for row in rows]
    tried = by_day(rows, transcript.every) if transcript.every else at_night(*rows)
    test: Any = pytest.mark.parametrize("row", tried, ids=ids)(play)
    return pytest.mark.database(test) if transcript.is_of_databases else test


def is_there(part: str) -> bool:
    has_library = part not in LIBRARIES or find_spec(LIBRARIES[part]) is not None
    return has_library and apps.is_installed(f"agui.contrib.{part}")


test_of.__test__ = False  # type: ignore[attr-defined]

for path in sorted(FOLDER.glob("*.yaml")):
    for transcript in read(path):
        if all(map(is_there, transcript.needs)):
            words = re.sub(r"\W+", "_", f"{path.stem} {transcript.sentence}".lower()).strip("_")
            globals()[f"test_{words}"] = test_of(transcript)
