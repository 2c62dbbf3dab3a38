"""The page that removes the example from a generated project, word for word."""

import os
from pathlib import Path

import guide
import pytest
from conftest import ROOT, TEMPLATE_NAME
from pages import drawn, expect, finished, message_box, say, sign_in
from servers import serve, text_of

LOOK, REMOVAL, _ = guide.sections(ROOT / TEMPLATE_NAME / "docs/make-it-yours.md").values()


@pytest.mark.browser
def test_the_page_gets_a_colour_and_a_logo(new_page, bake, furnish, tmp_path: Path):
    project = bake(project_name="Book Club")
    furnish(project)
    LOOK.follow(project)
    with serve(project) as live:
        page = sign_in(new_page(live.url, viewport={"width": 760, "height": 480}, reduced_motion="reduce"), live)
        say(page, "delete_finished_tasks")
        finished(page)
        expect(page.get_by_role("link", name="Book Club").locator("img")).to_be_visible()
        for element in ("html", "[part=panel]"):
            expect(page.locator(element)).to_have_css("background-color", "rgb(253, 247, 251)")
        # `make picture` keeps it in the manual.
        message_box(page).blur()
        drawn(page)
        path = Path(os.environ.get("MANUAL_PICTURES") or tmp_path) / "branded.png"
        page.screenshot(path=path, animations="disabled", caret="hide")
        assert path.stat().st_size < 60_000


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
