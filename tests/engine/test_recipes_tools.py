"""docs/recipes/, the part about tools: what each page claims."""

import re

import pytest
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType

from agui.models import Run
from agui.testing import Chat, ScriptedModel, call, say
from agui.tools.schema import ToolOptions
from engine.recipes import read_page


async def test_run_context(paste, user):
    paste("run-context")
    answer = await Chat(user, call("write_report"), say("Done.")).send("Write it")
    assert answer.results == ["Written for ada after 1 request(s) to the model."]
    told = [event["value"] for event in answer.events if event["type"] == "CUSTOM"]
    assert told == [{"percent": 50}, {"percent": 100}]
    assert [event["name"] for event in answer.events if event["type"] == "CUSTOM"] == ["report_progress"] * 2
    assert {"category": "reports"} in [event.get("snapshot") for event in answer.events]


async def test_tool_options(paste, user):
    paste("tool-options")
    chat = Chat(user, say("I can't."), call("archive", category=""), call("archive", category="home"), say("Done."))
    await chat.send("Archive them")
    assert list(chat.model.requests[0].tools) == ["send_invitation"]
    shown = set(re.findall(r"\b(\w+)=", read_page("tool-options")))
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

    chat = Chat(user, call("send_invitation", address="b@example.com"))
    [waiting] = (await chat.send("Invite Bob")).interrupts
    assert waiting["metadata"]["x-destructive"] is False


async def test_approvals(paste, other, settings):
    recipe = paste("approvals")
    assert await recipe.run_tests() == 1
    chat = Chat(other, call("send_message", to="Bob", text="Go!"), say("All right."))
    await chat.send("Tell Bob to go")
    answer = await chat.deny("Too rude")
    assert answer.text == "All right."
    assert "Too rude" in str(chat.model.requests[-1].tool_results)

    settings.AGUI = {**settings.AGUI, "AUTO_CONFIRM": ["send_message"]}
    chat = Chat(other, call("send_message", to="Bob", text="Go!"), say("Sent."))
    assert (await chat.send("Tell Bob")).results == ["Sent to Bob: Go!"]


async def test_deferred_calls(paste, user):
    paste("deferred-calls")
    chat = Chat(user, call("refund", euros=20), call("refund", euros=200), say("Done."), call("book_visit"), say("Ok."))
    answer = await chat.send("Refund both")
    assert answer.results == ["Refunded 20 euros."]
    assert [one["message"] for one in answer.interrupts] == ["Refund 200 euros?"]
    assert (await chat.approve()).results == ["Refunded 200 euros."]

    answer = await chat.send("Book a visit")
    [question] = answer.interrupts
    assert (question["message"], question["responseSchema"]["format"]) == ("Which day suits you?", "date")
    assert (await chat.resume("2026-12-24")).results == ["2026-12-24"]


async def test_tool_kinds(paste):
    assert await paste("tool-kinds").run_tests() == 1


async def test_sequential(paste, user):
    paste("sequential")
    together = [call("read_balance"), call("move_money", amount=5), call("read_balance")]
    answer = await Chat(user, together, say("Done.")).send("Move 5")
    assert answer.results == ["42", "Moved 5, alone: True", "42"]


async def test_function_toolset(paste, user):
    paste("function-toolset")
    answer = await Chat(user, [call("site_time_zone"), call("site_thread_name")], say("Paris."), thread="t1").send(
        "Where?"
    )
    assert sorted(answer.results) == ["Europe/Paris", "t1"]


async def test_abstract_toolset(paste, user, other):
    paste("abstract-toolset")
    answer = await Chat(user, call("report_of_ada"), say("Well.")).send("How is it?")
    assert answer.results == ["report_of_ada: all is well"]
    chat = Chat(other, say("Nothing."))
    await chat.send("How is it?")
    assert "report_of_bob" in chat.model.requests[0].tools
    assert "report_of_ada" not in chat.model.requests[0].tools


async def test_tool_events(paste, user):
    recipe = paste("tool-events")
    recipe.registry.add(lambda: "none", name="list_tasks", description="List the tasks.")
    recipe.registry.add(lambda: 1 / 0, name="fail", description="Fail.")
    await Chat(user, call("list_tasks"), call("fail"), say("None.")).send("List them")
    assert recipe.seen == [("list_tasks", "began"), ("list_tasks", "success"), ("fail", "began"), ("fail", "failed")]


async def test_prepare_tools(paste, user):
    recipe = paste("prepare-tools")
    recipe.registry.add(lambda: "added", name="add_task", description="Add a task.")
    chat = Chat(user, say("Yes."), say("No."))
    await chat.send("Can you add tasks?", state={"category": "home"})
    await chat.send("And now?", state={"category": "archive"})
    first, second = chat.model.requests
    assert first.tools["add_task"].description == "Add a task. For ada."
    assert "add_task" not in second.tools


async def test_tool_search(paste, user):
    paste("tool-search")
    search = call("search_tools", queries=["fiscal"])
    chat = Chat(user, search, call("export_tax_report", year=2025), say("There it is."))
    answer = await chat.send("Export my tax report")
    assert list(chat.model.requests[0].tools) == ["help_me", "search_tools"]
    assert "export_tax_report" in chat.model.requests[1].tools
    assert answer.results[1:] == ["Report of 2025"]


async def test_delegation(paste, user):
    paste("delegation")
    chat = Chat(user, call("translate", text="cat"), say("chat"), say("It is chat."))
    assert (await chat.send("What is cat in French?")).results == ["chat"]
    assert "into French" in chat.model.requests[1].instructions
    assert (await Run.objects.aget()).usage["requests"] == 3


async def test_testing(paste):
    assert await paste("testing").run_tests() == 3


async def test_telemetry(paste, user, monkeypatch):
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from agui.contrib.observe import telemetry as otel

    recipe = paste("telemetry")
    monkeypatch.setattr(otel.trace, "set_tracer_provider", lambda _: None)
    exporter = InMemorySpanExporter()
    sent = otel.start(processor=SimpleSpanProcessor(exporter), reader=InMemoryMetricReader())
    # A process has one provider, which would outlive this test.
    monkeypatch.setattr(recipe.modules["assistant/tools.py"], "tracer", sent.spans.get_tracer("recipe"))
    try:
        await Chat(user, call("look_up_price", product="lamp"), say("12 euros.")).send("What is a lamp?")
    finally:
        otel.stop()
    spans = {span.context.span_id: span for span in exporter.get_finished_spans()}
    [span] = [span for span in spans.values() if span.name == "ask the shop"]
    line = []
    while span:
        line.append(span.name)
        span = spans.get(span.parent.span_id) if span.parent else None
    assert line == ["ask the shop", "execute_tool look_up_price", "invoke_agent assistant", "agui.run"]
    assert "12 euros" not in "".join(span.to_json() for span in spans.values())


async def test_evals(paste, user, tmp_path):
    pytest.importorskip("pydantic_evals", exc_type=ImportError)
    from agui.contrib.evals.suites import EVALUATORS, Suite, passed, read_cases

    recipe = paste("evals")
    path = tmp_path / "brief.yaml"
    path.write_text(read_page("evals").split("```yaml\n")[1].split("```")[0])
    cases = read_cases(path, (*EVALUATORS, *recipe.EVALUATORS))
    for said, good in (("Hello.", 1), ("Hello, how do you do today?", 0)):
        report = await Suite(cases, model=ScriptedModel([say(said)])).run()
        assert passed(report) == good
