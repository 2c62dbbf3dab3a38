"""What is told of a call's arguments: secret ones are hidden in the audit trail, in the admin, and by the page.

transcripts/definitions.yaml has what a question says of them.
"""

import json
from typing import Annotated, Any

import pytest
from asgiref.sync import sync_to_async
from pydantic import BaseModel, Field, SecretStr
from pydantic_ai.messages import ToolCallPart

from agui import ToolRegistry, tool
from agui.contrib.admin.transcript import read_transcript
from agui.models import AuditRecord, get_conversation_model
from agui.testing import call, say
from agui.tools.redaction import redact_text
from agui.tools.secret_arguments import REDACTED, hide, secret_paths
from tests.conftest import Client, body_of, decision
from tests.test_work import Pauses
from tests.transcript_tools import AGENTS, effects

Thread = get_conversation_model()


class Door(BaseModel):
    """Something with a lock, and others behind it."""

    code: SecretStr
    name: str = ""
    behind: "list[Door]" = []


def locks() -> ToolRegistry:
    registry = ToolRegistry()

    @tool(registry, destructive=True)
    def unlock(
        door: Door,
        pin: Annotated[str | None, Field(json_schema_extra={"writeOnly": True})] = None,
        others: dict[str, SecretStr] = {},  # noqa: B006
    ) -> str:
        """Unlock a door."""
        if door.name == "jammed":
            raise ValueError(f"{pin} does not open it")
        return "open"

    return registry


GIVEN: dict[str, Any] = {
    "door": {"code": "hush-1", "name": "front", "behind": [{"code": "hush-2", "name": "back"}]},
    "pin": "hush-3",
    "others": {"cellar": "hush-4"},
}
HIDDEN: dict[str, Any] = {
    "door": {"code": REDACTED, "name": "front", "behind": [{"code": REDACTED, "name": "back"}]},
    "pin": REDACTED,
    "others": {"cellar": REDACTED},
}


def test_paths_follow_references_lists_and_alternatives():
    [binding] = locks()
    paths = secret_paths(binding.input_schema)
    assert {("pin",), ("others", "*"), ("door", "code"), ("door", "behind", "*", "code")} <= set(paths)
    assert hide(GIVEN, paths) == HIDDEN
    assert hide({"pin": None, "more": 1}, paths) == {"pin": None, "more": 1}


@pytest.mark.parametrize("answer", ["yes", "changed", "no", "fails"])
async def test_secrets_are_in_no_record_and_no_transcript(client: Client, mount, answer: str):
    mount(locks(), call("unlock", **GIVEN, _id="c1"), say("Done."))
    await client.run("Go")
    await check_transcript()  # While it waits, too
    mount(locks(), say("Done."))
    edited = {"changed": {**GIVEN, "pin": "hush-5"}, "fails": {**GIVEN, "door": {"code": "hush-6", "name": "jammed"}}}
    payload = {"editedArgs": edited[answer]} if answer in edited else {}
    await client.run(resume=[decision("c1", answer != "no", **payload)])
    record = await AuditRecord.objects.aget()
    assert record.outcome == {"no": "denied", "fails": "failed"}.get(answer, "success")
    assert "hush" not in f"{record.arguments} {record.proposed} {record.error}"
    assert record.arguments["pin"] == REDACTED
    await check_transcript()


async def check_transcript() -> None:
    thread = await Thread.objects.aget()
    lines = (await sync_to_async(read_transcript)(thread.head)).lines
    [line] = [line for line in lines if line.kind == "tool"]
    assert "hush" not in f"{line.arguments} {line.argument_fields}"
    assert REDACTED in line.arguments


async def test_after_an_edited_approval_all_records_have_the_arguments_that_ran(client: Client, mount: Any):
    client.user.first_name = "Ada"
    await client.user.asave()
    registry, _ = AGENTS["deletes a row"]()
    mount(registry, call("delete", row=3, _id="c1"), say("Done."))
    await client.run("Go")
    events = await client.run(resume=[decision("c1", editedArgs={"row": 4})])
    assert effects == ["deleted 4"]
    streamed = next(event for event in events if event["type"] == "TOOL_CALL_RESULT")["metadata"]
    assert (json.loads(streamed["editedArguments"]), streamed["editedBy"]) == ({"row": 4}, "Ada")

    stored = next(one for one in (await client.thread())["messages"] if one["role"] == "tool")
    assert stored["metadata"] == streamed
    export = await client.get("export/")
    document = json.loads(await body_of(export))
    told = [one for entry in document["threads"][0]["entries"] for one in entry["messages"] if one["role"] == "tool"]
    assert told[0]["metadata"] == streamed
    [record] = document["tool_calls"]
    assert (record["arguments"], record["proposed"], record["approved_by"]) == ({"row": 4}, {"row": 3}, "Ada")

    thread = await Thread.objects.aget()
    line = next(one for one in (await sync_to_async(read_transcript)(thread.head)).lines if one.kind == "tool")
    assert (json.loads(line.arguments), line.changed_by) == ({"row": 4}, "Ada")


# --- What it costs: a client may write the schema of a tool, and change the arguments


def steps_of(work: Any, *arguments: Any) -> int:
    pauses = Pauses()
    with pauses.counting():
        work(*arguments)
    return pauses.longest


def test_hiding_is_linear_in_the_paths_and_the_arguments():
    def hidden(size: int) -> int:
        properties = {f"p{n}": {"format": "password"} for n in range(size)}
        paths = secret_paths({"additionalProperties": {"properties": properties}})
        assert len(paths) == size
        return steps_of(hide, {f"k{n}": {"p1": 1, "p": 2} for n in range(size)}, paths)

    once, twice, fourfold = map(hidden, (100, 200, 400))
    assert twice < 2.5 * once
    assert fourfold < 2.5 * twice


def test_a_schema_that_contains_itself_is_walked_once_for_each_path():
    def walked(size: int) -> int:
        circle = {"anyOf": [*({} for _ in range(size)), {"$ref": "#"}]}
        return steps_of(secret_paths, circle)

    assert walked(4000) < 40 * 4000
    listed = {"anyOf": [{"properties": {"child": {"$ref": "#"}}}, {"properties": {"pin": {"format": "password"}}}]}
    assert [("child",) * depth + ("pin",) for depth in range(8)] == sorted(secret_paths(listed), key=len)


@pytest.mark.parametrize(
    "secrets", [list("redact[]"), ["[redacted]", "redacted"], ["a"], ["r" * n for n in range(1, 20)]]
)
def test_redacting_makes_no_text_much_longer(secrets: list[str]):
    text = "redact a car " * 20
    redacted = redact_text(text, ToolCallPart("t", {"password": secrets}), ["password"])
    assert len(redacted) < len(text) * len(REDACTED)
    assert not any(secret in redacted.replace(REDACTED, "") for secret in secrets)
    many = ToolCallPart("t", {"password": [f"s{n}" for n in range(2000)]})
    assert redact_text("x" * 10_000, many, ["password"]) == REDACTED
