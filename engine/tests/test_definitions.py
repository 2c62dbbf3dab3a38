"""What is told of a call that its user has changed. (transcripts/definitions.yaml has what its question says.)"""

import json
from typing import Any

from asgiref.sync import sync_to_async

from agui.contrib.admin.transcript import read_transcript
from agui.models import get_conversation_model
from agui.testing import call, say
from tests.conftest import Client, body_of, decision
from tests.transcript_tools import AGENTS, effects

Thread = get_conversation_model()


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
