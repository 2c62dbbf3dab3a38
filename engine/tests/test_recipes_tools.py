"""agui/manual/recipes/, the part about tools: what each page claims."""

import re

from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType

from agui.testing import Chat, call, say
from agui.tools.schema import ToolOptions
from tests.conftest import parts_of
from tests.recipe_pages import read_page


async def test_know_who_asks(paste, user):
    paste("use-the-run#know-who-asks-and-report-progress")
    answer = await Chat(user, call("write_report"), say("Done.")).send("Write it")
    assert answer.results == ["Written for ada after 1 request(s) to the model."]
    told = [event["value"] for event in answer.events if event["type"] == "CUSTOM"]
    assert told == [{"percent": 50}, {"percent": 100}]
    assert [event["name"] for event in answer.events if event["type"] == "CUSTOM"] == ["report_progress"] * 2
    assert {"category": "reports"} in [event.get("snapshot") for event in answer.events]


async def test_run_a_tool_alone(paste, user):
    paste("use-the-run#run-a-tool-alone")
    together = [call("read_balance"), call("move_money", amount=5), call("read_balance")]
    answer = await Chat(user, together, say("Done.")).send("Move 5")
    assert answer.results == ["42", "Moved 5, alone: True", "42"]


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
    archive = chat.model.requests[1].tools["archive"]
    assert archive.description.startswith("Archive all tasks of a category.\n\nReturn schema:")
    assert (archive.strict, archive.sequential, archive.timeout, archive.kind) == (True, True, None, "unapproved")
    assert "at least 1 character" in str(chat.model.requests[2].tool_results)
    assert [one["message"] for one in answer.interrupts] == ["Archive these tasks?"]
    answer = await chat.approve()
    assert answer.results == ["Archived home."]
    catalog = (await chat.http.get("/agent/tools/")).json()
    assert catalog[0]["summary"] == "Archive tasks"
    night = Chat(user, say("Not now."))
    await night.send("Archive them", state={"category": "night"})
    assert "archive" not in night.model.requests[0].tools

    chat = Chat(user, call("send_invitation", address="b@example.com"), say("Done."))
    [waiting] = (await chat.send("Invite Bob")).interrupts
    assert waiting["metadata"]["x-destructive"] is False
    assert (await chat.approve()).results == ["Invited b@example.com."]


async def test_bundle_tools_in_a_toolset(paste, user):
    paste("many-tools#bundle-tools-in-a-toolset")
    answer = await Chat(user, [call("site_time_zone"), call("site_thread_name")], say("Paris."), thread="t1").send(
        "Where?"
    )
    assert sorted(answer.results) == ["Europe/Paris", "t1"]


async def test_make_tools_for_each_run(paste, user, other):
    paste("tools-by-user#make-tools-for-each-run")
    answer = await Chat(user, call("report_of_ada"), say("Well.")).send("How is it?")
    assert answer.results == ["report_of_ada: all is well"]
    chat = Chat(other, say("Nothing."))
    await chat.send("How is it?")
    assert "report_of_bob" in chat.model.requests[0].tools
    assert "report_of_ada" not in chat.model.requests[0].tools


async def test_hide_or_change_tools_before_each_request(paste, user):
    recipe = paste("tools-by-user#hide-or-change-tools-before-each-request")
    recipe.registry.add(lambda: "added", name="add_task", description="Add a task.")
    chat = Chat(user, say("Yes."), say("No."))
    await chat.send("Can you add tasks?", state={"category": "home"})
    await chat.send("And now?", state={"category": "archive"})
    first, second = chat.model.requests
    assert first.tools["add_task"].description == "Add a task. For ada."
    assert "add_task" not in second.tools


async def test_let_the_agent_search_for_tools(paste, user):
    paste("many-tools#let-the-agent-search-for-tools")
    search = call("search_tools", queries=["fiscal"])
    chat = Chat(user, search, [call("export_tax_report", year=2025), call("help_me")], say("There."))
    answer = await chat.send("Export my tax report")
    assert list(chat.model.requests[0].tools) == ["help_me", "search_tools"]
    assert "export_tax_report" in chat.model.requests[1].tools
    assert answer.results[1:] == ["Report of 2025", "It can do much."]


async def test_tell_the_model_more_than_the_result(paste, user):
    paste("use-the-run#tell-the-model-more-than-the-result")
    chat = Chat(user, call("check_stock", item="Milk"), say("None left."), thread="t1")
    answer = await chat.send("Is there milk?")
    contents = [getattr(part, "content", "") for part in parts_of(chat.model.requests[1])]
    assert "Mention that Milk will arrive on Monday." in contents
    assert answer.text == "None left."
    assert "Monday" in str(answer.activities["pydantic_ai_enqueued_messages"])
    thread = (await chat.http.get("/agent/threads/t1/")).json()
    assert [message["role"] for message in thread["messages"]] == ["user", "assistant", "tool", "activity", "assistant"]


async def test_load_a_bundle_only_when_it_is_needed(paste, user):
    paste("many-tools#load-a-bundle-only-when-it-is-needed")
    chat = Chat(user, call("load_capability", id="invoices"), call("count_invoices"), say("Three."))
    answer = await chat.send("How many invoices are open?")
    first, second, third = chat.model.requests
    assert "Invoices of ada: what is open" in first.instructions
    assert "without VAT" not in first.instructions
    assert "count_invoices" not in first.tools
    assert "count_invoices" in second.tools
    assert "without VAT" in str(second.messages) + second.instructions
    assert third.tool_results == {"count_invoices": 3}
    assert [one.name for one in answer.calls] == ["load_capability", "count_invoices"]


async def test_switch_on_behaviour_for_a_group(paste, user, other):
    paste("tools-by-user#switch-on-behaviour-for-a-group")
    editors = await Group.objects.acreate(name="editors")
    await user.groups.aadd(editors)
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


async def test_describe_parameters_in_the_docstring(paste, user):
    paste("describe-a-tool#describe-parameters-in-the-docstring")
    chat = Chat(user, call("convert", amount=2, currency="USD"), say("Done."))
    assert (await chat.send("2 euros in dollars")).results == ["2.00 euros in USD"]
    properties = chat.model.requests[0].tools["convert"].parameters_json_schema["properties"]
    assert properties["currency"]["description"] == "The three letters of the currency, such as USD."


async def test_take_the_schema_from_elsewhere(paste, user):
    paste("describe-a-tool#take-the-schema-from-elsewhere")
    chat = Chat(user, call("find_customer", city="Rome", limit=3), say("Done."))
    answer = await chat.send("Who is in Rome?")
    assert answer.results == ["Sent to the CRM: [('city', 'Rome'), ('limit', 3)]"]
    assert chat.model.requests[0].tools["find_customer"].parameters_json_schema["required"] == ["city"]


async def test_load_several_bundles_together(paste, user):
    paste("many-tools#load-several-bundles-together")
    chat = Chat(user, call("load_capability", id="shop"), call("count_parcels"), say("Two."))
    assert (await chat.send("Where is my parcel?")).results[-1] == "2"
    first, second, _ = chat.model.requests
    assert "The shop: invoices and parcels." in first.instructions
    assert "Name the carrier." not in first.instructions
    loaded = str(second.messages) + second.instructions
    assert ["Amounts are in euros." in loaded, "Name the carrier." in loaded] == [True, True]
