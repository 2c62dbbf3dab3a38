"""agui/manual/recipes/: every recipe names its files and has a test that runs it, and pages stay short.

What the recipes about tools, approvals and code around a run claim is shown here, too.
"""

import asyncio
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from pydantic_ai.exceptions import UserError

from agui import build_agent
from agui.models import AuditRecord
from agui.testing import Chat, ScriptedModel, call, say
from agui.tools.schema import ToolOptions
from tests.conftest import parts_of
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


# What the model says to a tool of a recipe, and what the tool answers.
PLAYED: dict[str, tuple[list[Any], list[Any]]] = {
    "use-the-run#run-a-tool-alone": (
        [[call("read_balance"), call("move_money", amount=5), call("read_balance")]],
        ["42", "Moved 5, alone: True", "42"],
    ),
    "describe-a-tool#describe-parameters-in-the-docstring": (
        [call("convert", amount=2, currency="USD")],
        ["2.00 euros in USD"],
    ),
    "describe-a-tool#take-the-schema-from-elsewhere": (
        [call("find_customer", city="Rome", limit=3)],
        ["Sent to the CRM: [('city', 'Rome'), ('limit', 3)]"],
    ),
    "many-tools#let-the-agent-search-for-tools": (
        [call("search_tools", queries=["fiscal"]), [call("export_tax_report", year=2025), call("help_me")]],
        ["Report of 2025", "It can do much."],
    ),
    "many-tools#bundle-tools-in-a-toolset": (
        [[call("site_time_zone"), call("site_thread_name")]],
        ["Europe/Paris", "t1"],
    ),
    "many-tools#load-a-bundle-only-when-it-is-needed": (
        [call("load_capability", id="invoices"), call("count_invoices")],
        ["3"],
    ),
    "many-tools#load-several-bundles-together": ([call("load_capability", id="shop"), call("count_parcels")], ["2"]),
    "call-agents-from-code#leave-a-part-to-another-agent": ([call("translate", text="cat"), say("chat")], ["chat"]),
    "call-agents-from-code#work-through-fixed-steps": ([call("check_out", prices=[1.5, 2])], ["ada owes 3.50 euros"]),
    "answers-with-fields#read-fields-from-a-text": (
        [call("read_invoice", text="No 7"), *(call("final_result", number="7", total=n) for n in (-1, 9.5))],
        [{"number": "7", "total": 9.5}],
    ),
}


@pytest.mark.parametrize("name", PLAYED)
async def test_a_tool_of_a_recipe_does_as_the_page_says(paste, user, name):
    paste(name)
    answers, results = PLAYED[name]
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


# --- Tools


async def test_know_who_asks(paste, user):
    paste("use-the-run#know-who-asks-and-report-progress")
    answer = await Chat(user, call("write_report"), say("Done.")).send("Write it")
    assert answer.results == ["Written for ada after 1 request(s) to the model."]
    told = [(event["name"], event["value"]["percent"]) for event in answer.events if event["type"] == "CUSTOM"]
    assert told == [("report_progress", 50), ("report_progress", 100)]


async def test_set_every_option(paste, user):
    paste("describe-a-tool#set-every-option")
    chat = Chat(user, say("I can't."), call("archive", category=""), call("archive", category="home"), say("Done."))
    await chat.send("Archive them")
    assert list(chat.model.requests[0].tools) == ["send_invitation"]
    shown = set(re.findall(r"\b(\w+)=", read_page("describe-a-tool")))
    assert set(ToolOptions.__annotations__) <= shown

    # The page names a permission of the example, which a project may have removed.
    task, _ = await ContentType.objects.aget_or_create(app_label="assistant", model="task")
    permission, _ = await Permission.objects.aget_or_create(content_type=task, codename="change_task")
    await user.user_permissions.aadd(permission)
    answer = await chat.send("And now?")
    assert chat.model.requests[1].tools["archive"].description.startswith("Archive all tasks of a category.")
    assert "at least 1 character" in str(chat.model.requests[2].tool_results)
    assert [one["message"] for one in answer.interrupts] == ["Archive these tasks?"]
    assert (await chat.approve()).results == ["Archived home."]
    night = Chat(user, call("send_invitation", address="b@example.com"), say("Done."))
    [waiting] = (await night.send("Archive them", state={"category": "night"})).interrupts
    assert "archive" not in night.model.requests[0].tools
    assert waiting["metadata"]["x-destructive"] is False
    assert (await night.approve()).results == ["Invited b@example.com."]


async def test_make_tools_for_each_run(paste, user, other):
    paste("tools-by-user#make-tools-for-each-run")
    for one, name, another in ((user, "ada", "bob"), (other, "bob", "ada")):
        chat = Chat(one, call(f"report_of_{name}"), say("Well."))
        assert (await chat.send("How is it?")).results == [f"report_of_{name}: all is well"]
        assert f"report_of_{another}" not in chat.model.requests[0].tools


async def test_hide_or_change_tools_before_each_request(paste, user):
    recipe = paste("tools-by-user#hide-or-change-tools-before-each-request")
    recipe.registry.add(lambda: "added", name="add_task", description="Add a task.")
    chat = Chat(user, say("Yes."), say("No."))
    await chat.send("Can you add tasks?", state={"category": "home"})
    await chat.send("And now?", state={"category": "archive"})
    first, second = chat.model.requests
    assert first.tools["add_task"].description == "Add a task. For ada."
    assert "add_task" not in second.tools


async def test_tell_the_model_more_than_the_result(paste, user):
    paste("use-the-run#tell-the-model-more-than-the-result")
    chat = Chat(user, call("check_stock", item="Milk"), say("None left."))
    answer = await chat.send("Is there milk?")
    contents = [getattr(part, "content", "") for part in parts_of(chat.model.requests[1])]
    assert "Mention that Milk will arrive on Monday." in contents
    assert answer.text == "None left."
    assert "Monday" in str(answer.activities["pydantic_ai_enqueued_messages"])


async def test_switch_on_behaviour_for_a_group(paste, user, other):
    paste("tools-by-user#switch-on-behaviour-for-a-group")
    await user.groups.acreate(name="editors")
    answer = await Chat(user, call("word_count", text="one two"), say("Two.")).send("Count")
    assert answer.results == ["2"]
    chat = Chat(other, say("No."))
    await chat.send("Count")
    assert "word_count" not in chat.model.requests[0].tools
    assert "editor" not in chat.model.requests[0].instructions


async def test_keep_a_capability_for_some_users(paste, user, other):
    paste("tools-by-user#keep-a-capability-for-some-users")
    user.is_staff = True
    await user.asave()
    for one, told in ((user, True), (other, False)):
        chat = Chat(one, say("Hello."))
        await chat.send("Hi")
        assert ("kind word" in chat.model.requests[0].instructions) is told


async def test_hide_one_tool(paste, user):
    paste("tools-by-user#hide-one-tool")
    chat = Chat(user, call("restore_all"), say("Yes."), say("No."))
    assert (await chat.send("Restore them", state={"category": "archive"})).results == ["Restored."]
    await chat.send("And now?", state={"category": "home"})
    assert ["restore_all" in request.tools for request in chat.model.requests] == [True, True, False]


# --- Approvals, and questions


async def test_ask_only_if_much_is_at_stake(paste, user):
    paste("ask-for-approval#ask-only-if-much-is-at-stake")
    chat = Chat(user, call("refund", euros=20), call("refund", euros=200), say("Done."))
    answer = await chat.send("Refund both")
    assert answer.results == ["Refunded 20 euros."]
    assert [one["message"] for one in answer.interrupts] == ["Refund 200 euros?"]
    assert (await chat.approve()).results == ["Refunded 200 euros."]


def send_message(to: str, text: str) -> str:
    return f"Sent to {to}: {text}"


async def test_answer_in_code(paste, user):
    recipe = paste("ask-for-approval#answer-in-code-without-a-page")
    recipe.registry.add(send_message, description="Send a message.", destructive=True)
    calls = [call("send_message", to=name, text="Come!") for name in ("Bob", "Eve")]
    model = ScriptedModel([calls, say("One went out.")])
    with recipe.view.agent.override(model=model):
        assert await recipe.run_at_night(user, "Tell both") == "One went out."
    told = str(model.requests[1].messages)
    assert "Sent to Bob: Come! (sent at night)" in told
    assert "Sent to Eve" not in told
    assert "Nobody can be asked at night." in told
    assert sorted([record.outcome async for record in AuditRecord.objects.all()]) == ["denied", "success"]


async def test_ask_the_user_a_question(paste, user):
    paste("finish-later#ask-the-user-a-question")
    chat = Chat(user, call("book_visit"), say("Ok."))
    [question] = (await chat.send("Book a visit")).interrupts
    assert (question["message"], question["responseSchema"]["format"]) == ("Which day suits you?", "date")
    assert (await chat.resume("2026-12-24")).results == ["2026-12-24"]


# --- Code around a run, and capabilities


def logged(caplog):
    return [record.getMessage() for record in caplog.records if record.name == "assistant.agent"]


def quote(title: str) -> str:
    return f"<{title}>"


async def test_change_arguments_and_answers(paste, user, caplog):
    recipe = paste("run-code-around-a-run#change-arguments-and-answers")
    recipe.registry.add(quote, name="add_task", description="Add a task.")
    chat = Chat(user, call("add_task", title=" Milk "), say("Added."), say("Hello."))
    answer = await chat.send("Milk")
    assert answer.results == ["<Milk>"]
    assert "Never promise a date." in chat.model.requests[0].instructions
    await chat.send("Hi")
    assert chat.model.requests[-1].messages[1].metadata["asked_by"] == "ada"

    config = replace(recipe.config, capabilities=[recipe.HouseRules(closed=True)])
    recipe.view.endpoint = replace(recipe.view.endpoint, config=config)
    assert (await Chat(user, say("Never asked.")).send("Hi")).text == "We are closed. Try again tomorrow."


async def test_log_what_a_run_does(paste, user, caplog):
    recipe = paste("run-code-around-a-run#log-what-a-run-does")
    caplog.set_level("INFO", "assistant.agent")
    await Chat(user, say("Hello.")).send("Hi")
    assert logged(caplog) == ["ada asks with 1 messages", "ada used 15 tokens"]

    @recipe.hooks.on.before_model_request(timeout=0.001)
    async def hang(ctx, request_context):
        await asyncio.Event().wait()

    assert (await Chat(user, say("Never asked.")).send("Hi")).error == "hook_timeout"
    assert "hang took more than 0.001 seconds" in caplog.text


async def test_choose_which_capability_comes_first(paste, user):
    recipe = paste("arrange-capabilities#choose-which-capability-comes-first")
    await Chat(user, say("Hello.")).send("Hi")
    assert recipe.order == ["Translate", "Shorten", "Measure"]
    with pytest.raises(UserError, match="requires `Shorten`"):
        build_agent(recipe.registry, replace(recipe.config, capabilities=[recipe.Translate(), recipe.Measure()]))


async def test_time_each_layer_of_a_run(paste, user, caplog):
    recipe = paste("run-code-around-a-run#time-each-layer-of-a-run")
    recipe.registry.add(quote, name="add_task", description="Add a task.")
    caplog.set_level("INFO", "assistant.agent")
    await Chat(user, call("add_task", title="Milk"), say("Added.")).send("Milk")
    layers = [line.partition(" took ")[0] for line in logged(caplog) if " took " in line]
    assert layers.index("arguments of add_task") < layers.index("add_task") < layers.index("CallToolsNode")
    assert layers.count("ModelRequestNode") == 2
    assert layers[-1] == "run"
    assert [line for line in logged(caplog) if line.endswith(" events") and line != "0 events"]


async def test_count_what_tools_do(paste, user):
    recipe = paste("observe#count-what-tools-do")
    recipe.registry.add(lambda: "none", name="list_tasks", description="List the tasks.")
    recipe.registry.add(lambda: 1 / 0, name="fail", description="Fail.")
    await Chat(user, call("list_tasks"), call("fail"), say("None.")).send("List them")
    assert recipe.seen == [("list_tasks", "began"), ("list_tasks", "success"), ("fail", "began"), ("fail", "failed")]
