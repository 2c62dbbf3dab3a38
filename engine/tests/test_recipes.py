"""agui/manual/recipes/: every recipe names its files and has a test that runs it, and pages stay short."""

from pathlib import Path

import pytest

from agui.testing import Chat, call, say
from tests.recipe_pages import BLOCK, PAGES, read_page, read_recipes


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_short_and_all_its_code_is_in_recipes_and_names_its_file(page):
    text = read_page(page)
    assert text.count("\n") <= 205
    recipes = [recipe for name, recipe in read_recipes().items() if name.startswith(f"{page}#")]
    assert sum(len(BLOCK.findall(recipe)) for recipe in recipes) == text.count("```python")


def test_every_recipe_has_a_test_that_runs_it():
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert [name for name in read_recipes() if f'"{name}"' not in tests] == []


INVOICES = [call("final_result", number="7", total=total) for total in (-1, 9.5)]


@pytest.mark.parametrize(
    ("name", "answers", "results"),
    [
        (
            "use-the-run#run-a-tool-alone",
            [[call("read_balance"), call("move_money", amount=5), call("read_balance")]],
            ["42", "Moved 5, alone: True", "42"],
        ),
        (
            "describe-a-tool#describe-parameters-in-the-docstring",
            [call("convert", amount=2, currency="USD")],
            ["2.00 euros in USD"],
        ),
        (
            "describe-a-tool#take-the-schema-from-elsewhere",
            [call("find_customer", city="Rome", limit=3)],
            ["Sent to the CRM: [('city', 'Rome'), ('limit', 3)]"],
        ),
        (
            "many-tools#let-the-agent-search-for-tools",
            [call("search_tools", queries=["fiscal"]), [call("export_tax_report", year=2025), call("help_me")]],
            ["Report of 2025", "It can do much."],
        ),
        (
            "many-tools#bundle-tools-in-a-toolset",
            [[call("site_time_zone"), call("site_thread_name")]],
            ["Europe/Paris", "t1"],
        ),
        (
            "many-tools#load-a-bundle-only-when-it-is-needed",
            [call("load_capability", id="invoices"), call("count_invoices")],
            ["3"],
        ),
        (
            "many-tools#load-several-bundles-together",
            [call("load_capability", id="shop"), call("count_parcels")],
            ["2"],
        ),
        ("call-agents-from-code#leave-a-part-to-another-agent", [call("translate", text="cat"), say("chat")], ["chat"]),
        (
            "call-agents-from-code#work-through-fixed-steps",
            [call("check_out", prices=[1.5, 2])],
            ["ada owes 3.50 euros"],
        ),
        (
            "answers-with-fields#read-fields-from-a-text",
            [call("read_invoice", text="No 7: 9.50"), *INVOICES],
            [{"number": "7", "total": 9.5}],
        ),
    ],
)
async def test_a_tool_of_a_recipe_does_as_the_page_says(paste, user, name, answers, results):
    paste(name)
    answer = await Chat(user, *answers, say("Done."), thread="t1").send("Go")
    assert answer.results[-len(results) :] == results


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("test-and-evaluate#play-a-conversation", 3),
        ("test-and-evaluate#test-what-users-see-of-a-failure", 2),
        ("ask-for-approval#ask-before-a-tool-acts", 1),
        ("finish-later#wait-for-a-job-elsewhere", 1),
        ("finish-later#run-a-tool-in-the-page", 1),
    ],
)
async def test_the_tests_of_a_recipe_pass(paste, name, count):
    assert await paste(name).run_tests() == count
