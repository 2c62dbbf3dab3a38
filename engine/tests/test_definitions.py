"""What a question about a call says, and what is told of the call afterwards; see transcripts/definitions.yaml, too."""

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from pydantic import BaseModel, Field
from pydantic_ai import ApprovalRequired, RunContext

from agui import AgentDeps, ToolRegistry, tool
from agui.contrib.admin.transcript import read_transcript
from agui.models import get_conversation_model
from agui.testing import call, say
from tests.conftest import Client, decision

Thread = get_conversation_model()

done: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    done.clear()


def delete(confirm: str = "Delete one row?") -> ToolRegistry:
    """A registry as one deploy has it."""
    registry = ToolRegistry()

    @tool(registry, name="delete", confirm=confirm, summary="Delete", destructive=True)
    def delete_rows(row: int) -> str:
        """Delete."""
        done.append(row)
        return "deleted"

    return registry


async def interrupt_of(client: Client, **body: Any) -> dict[str, Any]:
    """What the only interrupt of a run asks."""
    [interrupt] = (await client.run(**body))[-1]["outcome"]["interrupts"]
    return interrupt


async def test_what_is_asked_again_is_another_question_with_what_the_user_changed(client: Client, mount):
    mount(delete(), call("delete", row=3, _id="c1"))
    before = await interrupt_of(client, text="Go")
    mount(delete("Delete all rows?"), say("Done."))
    again = await interrupt_of(client, resume=[decision("c1", editedArgs={"row": 4})])
    assert again["id"] != before["id"]
    assert json.loads(again["metadata"]["arguments"]) == json.loads(again["metadata"]["edited"]) == {"row": 4}
    assert (await client.thread())["pending"] == [again]


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
    interrupt = await interrupt_of(client, text="Go")
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
    mount(delete(), call("delete", row=3, _id="c1"), say("Done."))
    await client.run("Go")
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
