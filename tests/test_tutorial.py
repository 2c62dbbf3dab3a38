"""The tutorial of a generated project, word for word, in Chromium."""

from collections.abc import Callable
from pathlib import Path

import guide
import pytest
from conftest import MANUAL
from pages import Page, expect, finished, hear, keep_picture, sign_in
from servers import LiveProject, serve

pytestmark = pytest.mark.browser
DOCS = MANUAL
START, MODEL, READ, ASK, PAGE, SKILL, TEST, EVAL, REAL, _ = guide.sections(DOCS / "tutorial.md").values()


def is_whole(command: str) -> bool:
    """`make check` and its like test the whole project: the last test does."""
    return command.startswith("make ")


@pytest.fixture
def opened(new_page: Callable[..., Page]) -> Callable[[LiveProject], Page]:
    def open_page(live: LiveProject) -> Page:
        return sign_in(new_page(live.url, reduced_motion="reduce"), live)

    return open_page


def ask(page: Page, prompt: str) -> None:
    hear(page, prompt)


def cells(page: Page, text: str):
    return page.get_by_role("cell", name=text, exact=True)


@pytest.mark.nightly
def test_each_step_shows_what_the_tutorial_says(opened, bake, furnish, tmp_path: Path):
    project = bake(parts="standard")
    furnish(project)
    MODEL.follow(project)
    READ.follow(project)
    with serve(project) as live:
        page = opened(live)
        for prompt in [*START.prompts, *READ.prompts]:
            ask(page, prompt)
        expect(cells(page, "Jane Austen")).to_be_visible()
        ask(page, 'add_book title="Ulysses" author="James Joyce" pages=-1')
        page.get_by_text("Add book").last.click()
        expect(page.get_by_text("Input should be greater than or equal to 1").first).to_be_visible()

    ASK.follow(project)
    with serve(project) as live:
        page = opened(live)
        [prompt] = ASK.prompts
        ask(page, prompt)
        expect(page.get_by_text("Take “Dracula” off your list?")).to_be_visible()
        keep_picture(page, tmp_path / "approval.png")
        page.get_by_role("button", name="Deny").click()
        page.get_by_role("button", name="Deny").click()
        finished(page)
        ask(page, "find_books title_or_author=drac")
        expect(cells(page, "Bram Stoker")).to_be_visible()
        ask(page, prompt)
        page.get_by_role("button", name="Approve").click()
        finished(page)
        expect(page.get_by_text("Removed: Dracula").first).to_be_visible()

    PAGE.follow(project)
    SKILL.follow(project)
    with serve(project) as live:
        page = opened(live)
        [prompt] = PAGE.prompts
        ask(page, prompt)
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
def test_what_the_tutorial_built_passes_make_check(bake, furnish):
    project = bake(parts="standard")
    furnish(project)
    for section in (MODEL, READ, ASK, PAGE, SKILL, TEST, EVAL):
        section.follow(project)
