"""The page that removes the example from a generated project, word for word."""

from pathlib import Path

import guide
import pytest
from conftest import MANUAL
from pages import expect, hear, keep_picture, sign_in
from servers import serve, text_of

LOOK, REMOVAL, _ = guide.sections(MANUAL / "make-it-yours.md").values()


@pytest.mark.nightly
@pytest.mark.browser
def test_the_page_gets_a_colour_and_a_logo(new_page, bake, furnish, tmp_path: Path):
    project = bake(project_name="Book Club")
    furnish(project)
    LOOK.follow(project)
    with serve(project) as live:
        page = sign_in(new_page(live.url, reduced_motion="reduce"), live)
        hear(page, "delete_finished_tasks")
        expect(page.get_by_role("link", name="Book Club").locator("img")).to_be_visible()
        for element in ("html", "[part=panel]"):
            expect(page.locator(element)).to_have_css("background-color", "rgb(253, 247, 251)")
        keep_picture(page, tmp_path / "branded.png")


@pytest.mark.nightly
@pytest.mark.engine
def test_the_example_leaves_nothing_behind(bake, furnish):
    project = bake(parts="everything")
    furnish(project)
    REMOVAL.follow(project)
    yours = [path for name in ("assistant", "config", "users") for path in (project / name).rglob("*.*")]
    kept = [path for path in yours if path.suffix != ".pyc" and "migrations" not in path.parts]
    assert [path.name for path in kept if "task" in path.read_text().lower()] == []
    with serve(project) as live:
        [prompt] = REMOVAL.prompts
        assert "-" in text_of(live.client(live.token).run(prompt))
