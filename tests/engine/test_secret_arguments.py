"""Arguments whose schema says that they are secret: hidden in the audit trail, in the admin, and by the page."""

from typing import Annotated, Any

import pytest
from asgiref.sync import sync_to_async
from pydantic import BaseModel, Field, SecretStr

from agui import ToolRegistry, tool
from agui.admin.transcript import read_transcript
from agui.models import AuditRecord, Thread
from agui.testing import call, say
from agui.tools.secret_arguments import REDACTED, hide, secret_paths
from engine.conftest import Client, decision


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


async def test_the_page_is_told_what_to_hide(client: Client, mount):
    registry = locks()

    @tool(registry)
    def plain(name: str) -> str:
        """Say it."""
        return name

    mount(registry)
    unlock, other = (await client.get("tools/")).json()
    assert ["door", "code"] in unlock["secrets"]
    assert "secrets" not in other
