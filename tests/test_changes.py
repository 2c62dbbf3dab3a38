"""The changes that coding assistants are told to make, word for word, with the commands that prove them."""

import guide
import pytest
from conftest import ROOT, TEMPLATE_NAME

CHANGES = guide.sections(ROOT / TEMPLATE_NAME / ".agents/skills/change-the-agent/SKILL.md")


def test_each_change_ends_with_its_proof():
    assert CHANGES
    assert all(change.steps[-1].language == "sh" for change in CHANGES.values())


@pytest.mark.engine
@pytest.mark.nightly
def test_each_change_is_proven_by_its_command(bake_furnished):
    project = bake_furnished(parts="standard")
    for change in CHANGES.values():
        change.follow(project)
