"""How the engine is built: a package that could be lifted out of the project."""

import re
from pathlib import Path

import agui

ROOT = Path(agui.__file__).parent


def test_only_two_rooms_of_the_server_know_the_types_of_ag_ui():
    server = [path for path in ROOT.rglob("*.py") if "client" not in path.parts]
    knowing = [path for path in server if re.search(r"^\s*(?:from|import) ag_ui\b", path.read_text(), re.M)]
    assert {path.relative_to(ROOT).parts[0] for path in knowing} == {"protocol", "events"}
