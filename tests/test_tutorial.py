"""The pages that teach, word for word: the tutorial in Chromium, make-it-yours.md, the skill change-the-agent."""

from pathlib import Path

import guide
import pytest
from conftest import MANUAL, ROOT, TEMPLATE_NAME
from pages import Page, expect, finished, hear, keep_picture, sign_in
from servers import LiveProject, serve, text_of

START, MODEL, READ, ASK, PAGE, SKILL, TEST, EVAL, REAL, _ = guide.sections(MANUAL / "tutorial.md").values()
LOOK, _, REMOVAL, _ = guide.sections(MANUAL / "make-it-yours.md").values()
CHANGES = guide.sections(ROOT / TEMPLATE_NAME / ".agents/skills/change-the-agent/SKILL.md")


def is_whole(command: str) -> bool:
    """`make check` and its like test the whole project: another test does."""
    return command.startswith("make ")


@pytest.fixture
def opened(new_page):
    def open_page(live: LiveProject) -> Page:
        return sign_in(new_page(live.url, reduced_motion="reduce"), live)

    return open_page


def cells(page: Page, text: str):
    return page.get_by_role("cell", name=text, exact=True)


@pytest.mark.nightly
@pytest.mark.browser
def test_each_step_shows_what_the_tutorial_says(opened, bake_furnished, tmp_path: Path):
    project = bake_furnished(parts="standard")
    MODEL.follow(project)
    READ.follow(project)
    with serve(project) as live:
        page = opened(live)
        for prompt in [*START.prompts, *READ.prompts]:
            hear(page, prompt)
        expect(cells(page, "Jane Austen")).to_be_visible()
        hear(page, 'add_book title="Ulysses" author="James Joyce" pages=-1')
        page.get_by_text("Add book").last.click()
        expect(page.get_by_text("Input should be greater than or equal to 1").first).to_be_visible()

    ASK.follow(project)
    with serve(project) as live:
        page = opened(live)
        [prompt] = ASK.prompts
        hear(page, prompt)
        expect(page.get_by_text("Take “Dracula” off your list?")).to_be_visible()
        keep_picture(page, tmp_path / "approval.png")
        page.get_by_role("button", name="Deny").click()
        page.get_by_role("button", name="Deny").click()
        finished(page)
        hear(page, "find_books title_or_author=drac")
        expect(cells(page, "Bram Stoker")).to_be_visible()
        hear(page, prompt)
        page.get_by_role("button", name="Approve").click()
        finished(page)
        expect(page.get_by_text("Removed: Dracula").first).to_be_visible()

    PAGE.follow(project)
    SKILL.follow(project)
    with serve(project) as live:
        page = opened(live)
        [prompt] = PAGE.prompts
        hear(page, prompt)
        expect(page.get_by_role("link", name="12 books this year")).to_be_visible()
        page.goto(live.url)
        page.get_by_role("button", name="What do I read next?").click()
        finished(page)
        expect(cells(page, "Jane Austen")).to_be_visible()

    TEST.follow(project, skip=is_whole)
    EVAL.follow(project, skip=is_whole)
    guide.run(project, ".venv/bin/python manage.py evaluate books")
    guide.edit(project, REAL.steps[-1])
    guide.run(project, ".venv/bin/ruff check --no-cache . && .venv/bin/ruff format --no-cache --check .")


@pytest.mark.nightly
@pytest.mark.engine
def test_what_the_tutorial_built_passes_make_check(bake_furnished):
    project = bake_furnished(parts="standard")
    for section in (MODEL, READ, ASK, PAGE, SKILL, TEST, EVAL):
        section.follow(project)


@pytest.mark.nightly
@pytest.mark.browser
def test_the_page_gets_a_colour_and_a_logo(opened, bake_furnished, tmp_path: Path):
    project = bake_furnished(project_name="Book Club")
    LOOK.follow(project)
    with serve(project) as live:
        page = opened(live)
        hear(page, "delete_finished_tasks")
        expect(page.get_by_role("link", name="Book Club").locator("img")).to_be_visible()
        for element in ("html", "[part=panel]"):
            expect(page.locator(element)).to_have_css("background-color", "rgb(253, 247, 251)")
        keep_picture(page, tmp_path / "branded.png")


@pytest.mark.nightly
@pytest.mark.engine
def test_the_example_leaves_nothing_behind(bake_furnished):
    project = bake_furnished()
    REMOVAL.follow(project)
    yours = [path for name in ("assistant", "config", "users") for path in (project / name).rglob("*.*")]
    kept = [path for path in yours if path.suffix != ".pyc" and "migrations" not in path.parts]
    assert [path.name for path in kept if "task" in path.read_text().lower()] == []
    with serve(project) as live:
        [prompt] = REMOVAL.prompts
        assert "-" in text_of(live.client(live.token).run(prompt))


@pytest.mark.nightly
@pytest.mark.engine
def test_each_change_is_proven_by_its_command(bake_furnished):
    project = bake_furnished(parts="standard")
    assert CHANGES
    for change in CHANGES.values():
        assert change.steps[-1].language == "sh"
        change.follow(project)
