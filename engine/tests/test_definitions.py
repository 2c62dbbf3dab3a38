"""An approval holds for the definition that the user was asked with: a deploy in between asks them again."""

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from pydantic import BaseModel, Field
from pydantic_ai import ApprovalRequired, FunctionToolset, RunContext

from agui import AgentDeps, ToolRegistry, tool
from agui.contrib.admin.transcript import read_transcript
from agui.models import AuditRecord, get_conversation_model
from agui.testing import call, event_types, say
from tests.conftest import Client, decision, results_of

Thread = get_conversation_model()

done: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    done.clear()


def delete(confirm: str = "Delete one row?", kind: Any = int, summary: str = "Delete", **options: Any) -> ToolRegistry:
    """A registry as one deploy has it."""
    registry = ToolRegistry()

    @tool(registry, name="delete", confirm=confirm, summary=summary, destructive=True, **options)
    def delete_rows(row: kind) -> str:
        """Delete."""
        done.append(row)
        return "deleted"

    return registry


async def asked_of(client: Client, mount: Any, registry: ToolRegistry, **config: Any) -> dict[str, Any]:
    mount(registry, call("delete", row=3, _id="c1"), **config)
    [interrupt] = (await client.run("Go"))[-1]["outcome"]["interrupts"]
    return interrupt


@pytest.mark.parametrize(
    "changed",
    [{"confirm": "Delete all rows?"}, {"kind": float}, {"kind": int | str}, {"summary": "Delete for ever"}],
    ids=["question", "type", "union", "summary"],
)
async def test_a_tool_that_changed_is_asked_about_again(client: Client, mount, changed):
    before = await asked_of(client, mount, delete())
    model = mount(delete(**changed), say("Done."))
    events = await client.run(resume=[decision("c1")])
    assert done == []
    assert event_types(events) == ["RUN_STARTED", "RUN_FINISHED"]
    [again] = events[-1]["outcome"]["interrupts"]
    assert again["id"] != before["id"]
    assert again["message"] == changed.get("confirm", "Delete one row?")
    assert (await client.thread())["pending"] == [again]
    await client.run(resume=[decision("c1")])
    assert done == [3]
    assert results_of(model.requests[0])["c1"].content == "deleted"


@pytest.mark.parametrize(("answer", "row"), [({}, 4), ({"editedArgs": {"row": 3}}, 3), ({"editedArgs": {"row": 5}}, 5)])
async def test_what_the_user_changed_is_kept_when_they_are_asked_again(client: Client, mount, answer, row):
    await asked_of(client, mount, delete())
    mount(delete("Delete all rows?"), say("Done."))
    events = await client.run(resume=[decision("c1", editedArgs={"row": 4})])
    [again] = events[-1]["outcome"]["interrupts"]
    assert json.loads(again["metadata"]["arguments"]) == json.loads(again["metadata"]["edited"]) == {"row": 4}
    await client.run(resume=[decision("c1", **answer)])
    assert done == [row]


async def test_a_tool_that_did_not_change_runs_after_a_deploy(client: Client, mount):
    await asked_of(client, mount, delete())
    mount(delete(permission=None, timeout=9), say("Done."))
    await client.run(resume=[decision("c1")])
    assert done == [3]


async def test_an_approval_of_arguments_that_the_tool_no_longer_takes_does_not_count(client: Client, mount):
    await asked_of(client, mount, delete())
    model = mount(delete(kind=list[int]), call("delete", row=[3], _id="c2"))
    events = await client.run(resume=[decision("c1")])
    assert results_of(model.requests[0])["c1"].outcome == "retried"
    assert [one["toolCallId"] for one in events[-1]["outcome"]["interrupts"]] == ["c2"]
    assert done == []


async def test_a_tool_that_is_gone_does_not_run_and_ends_no_run(client: Client, mount):
    await asked_of(client, mount, delete())
    model = mount(ToolRegistry(), say("It can't be done any more."))
    events = await client.run(resume=[decision("c1")])
    assert events[-1]["outcome"] == {"type": "success"}
    assert results_of(model.requests[0])["c1"].outcome == "retried"
    assert done == []


async def test_a_tool_of_the_page_does_not_inherit_an_approval(client: Client, mount):
    await asked_of(client, mount, delete())
    model = mount(ToolRegistry(), say("It can't be done any more."))
    own = [{"name": "delete", "description": "Delete.", "parameters": {"type": "object", "properties": {}}}]
    events = await client.run(resume=[decision("c1")], tools=own)
    assert events[-1]["outcome"] == {"type": "success"}
    assert results_of(model.requests[0])["c1"].content == "This tool no longer exists. Nothing was done."


async def test_tools_of_toolsets_are_asked_about_again(client: Client, mount):
    def toolset(kind: Any) -> FunctionToolset:
        def delete(row: kind) -> str:
            """Delete."""
            done.append(row)
            return "deleted"

        tools = FunctionToolset()
        tools.add_function(delete, requires_approval=True)
        return tools

    interrupt = await asked_of(client, mount, ToolRegistry(), toolsets=[toolset(int)])
    assert interrupt["message"] == 'Run "Delete"?'
    assert interrupt["responseSchema"]["properties"]["editedArgs"]["properties"]["row"] == {"type": "integer"}
    mount(ToolRegistry(), say("Done."), toolsets=[toolset(float)])
    events = await client.run(resume=[decision("c1")])
    assert (done, len(events[-1]["outcome"]["interrupts"])) == ([], 1)
    await client.run(resume=[decision("c1")])
    assert done == [3]


# --- What the question says


class Address(BaseModel):
    street: str
    country: str = "DE"
    tags: list[str] = Field(default_factory=lambda: ["home"])


def sending(**options: Any) -> ToolRegistry:
    registry = ToolRegistry()

    @tool(registry, confirm="Really send it?", summary="Send a letter", **options)
    def send(ctx: RunContext[AgentDeps], to: Address, body: str = "Dear Sir or Madam", copies: int = 1) -> str:
        """Send."""
        if not options and not ctx.tool_call_approved:
            raise ApprovalRequired({"scope": "all"})
        done.append((to.country, body))
        return "sent"

    return registry


@pytest.mark.parametrize("options", [{}, {"destructive": True}], ids=["from within", "before it"])
async def test_the_question_has_the_tools_words_and_all_that_it_will_get(client: Client, mount, options):
    mount(sending(**options), call("send", to={"street": "Main"}, copies=2, _id="c1"), say("Done."))
    [interrupt] = (await client.run("Go"))[-1]["outcome"]["interrupts"]
    assert interrupt["message"] == "Really send it?"
    metadata = interrupt["metadata"]
    assert (metadata["x-confirm"], metadata["x-summary"]) == ("Really send it?", "Send a letter")
    assert json.loads(metadata["arguments"]) == {
        "to": {"street": "Main", "country": "DE", "tags": ["home"]},
        "copies": 2,
        "body": "Dear Sir or Madam",
    }
    editable = interrupt["responseSchema"]["properties"]["editedArgs"]
    assert set(editable["properties"]) == {"to", "body", "copies"}
    edited = {"to": {"street": "Main"}, "body": "Hello"}
    await client.run(resume=[decision("c1", editedArgs=edited)])
    if not options:
        # What a tool says itself may depend on the arguments, so it is asked again.
        assert done == []
        await client.run(resume=[decision("c1", editedArgs=edited)])
    assert done == [("DE", "Hello")]


async def test_edited_arguments_of_a_tool_that_asks_from_within_have_to_fit(client: Client, mount):
    mount(sending(), call("send", to={"street": "Main"}, _id="c1"), say("Done."))
    await client.run("Go")
    events = await client.run(resume=[decision("c1", editedArgs={"to": {"street": 5}})])
    assert (events[-1]["code"], done) == ("invalid_resume", [])


# --- What is told of it afterwards


async def test_after_an_edited_approval_all_records_have_the_arguments_that_ran(client: Client, mount):
    client.user.first_name = "Ada"
    await client.user.asave()
    await asked_of(client, mount, delete())
    mount(delete(), say("Done."))
    events = await client.run(resume=[decision("c1", editedArgs={"row": 4})])
    assert done == [4]
    streamed = next(event for event in events if event["type"] == "TOOL_CALL_RESULT")["metadata"]
    assert (json.loads(streamed["editedArguments"]), streamed["editedBy"]) == ({"row": 4}, "Ada")

    stored = next(one for one in (await client.thread())["messages"] if one["role"] == "tool")
    assert stored["metadata"] == streamed
    export = await client.get("export/")
    document = json.loads(b"".join([chunk async for chunk in export.streaming_content]))
    told = [one for entry in document["threads"][0]["entries"] for one in entry["messages"] if one["role"] == "tool"]
    assert told[0]["metadata"] == streamed
    [record] = document["tool_calls"]
    assert (record["arguments"], record["proposed"], record["approved_by"]) == ({"row": 4}, {"row": 3}, "Ada")

    thread = await Thread.objects.aget()
    line = next(one for one in (await sync_to_async(read_transcript)(thread.head)).lines if one.kind == "tool")
    assert (json.loads(line.arguments), line.changed_by) == ({"row": 4}, "Ada")


async def test_a_plain_approval_says_who_gave_it_and_changes_nothing(client: Client, mount):
    await asked_of(client, mount, delete())
    mount(delete(), say("Done."))
    events = await client.run(resume=[decision("c1", editedArgs={"row": 3})])
    assert "editedArguments" not in next(e for e in events if e["type"] == "TOOL_CALL_RESULT")["metadata"]
    record = await AuditRecord.objects.aget()
    assert (record.arguments, record.proposed, record.approved_by) == ({"row": 3}, None, "ada")


async def test_a_denied_call_was_approved_by_nobody(client: Client, mount):
    await asked_of(client, mount, delete())
    mount(delete(), say("Fine."))
    await client.run(resume=[decision("c1", approved=False)])
    record = await AuditRecord.objects.aget()
    assert (record.outcome, record.proposed, record.approved_by) == ("denied", None, "")
