"""What a client sent is what it reads again. (bodies.yaml has what is refused.)"""

import base64
import json

import pytest
from pydantic_ai import BinaryContent, ToolReturn

from agui.models import Message
from agui.protocol.outbound import completed, missing
from agui.stores import codec
from agui.stores.annotations import annotation
from agui.testing import call, say
from tests import urls
from tests.conftest import Client, parts_of, script
from tests.test_multimodal import DATA, PNG, data, url

FILE = {"id": "5f0f", "name": "plan.pdf", "mime": "application/pdf", "size": 1024}
TEXT = {"type": "text", "text": "Look"}


def user(content: object = "Hi", **fields: object) -> dict:
    return {"id": "u1", "role": "user", "content": content, **fields}


async def read_again(client: Client, *messages: dict) -> list[dict]:
    with script(say("I see.")):
        await client.run(messages=list(messages))
    return (await client.thread())["messages"][: len(messages)]


@pytest.mark.parametrize(
    "message",
    [
        user(metadata={"attachments": [FILE], "draft": None, "at": {"x": 1.5, "on": True, "list": [None, []]}}),
        user(attachments=[FILE]),
        user(name="Ada"),
        user(subagentRunId="s1", priority=5, tags=["a"], nested={"tool_calls": None}),
        user(metadata={"agui": {"ids": ["x"]}, "__pydantic_ai__": {"ui_message_id": "x"}, "ids": [1]}),
        user(ids=["x"], extras={"u1": {}}),
        user(metadata={"nul": "\x00", "\x00": "json", "emoji": "👩‍👩‍👧", "escape": "\\u0000"}, json="x"),
        user(metadata={"json": "[1]"}),
        user(metadata={"deep": json.loads("[" * 100 + "]" * 100)}),
        user([TEXT]),
        user([TEXT, {"type": "text", "text": ""}]),
        user([{"type": "text", "text": "Look", "id": "p1", "metadata": {"lang": "en"}, "extra": [1]}]),
        user([TEXT, {**data("image", "image/png"), "id": "p2", "filename": "a.png", "metadata": {"w": 1}}]),
        user([TEXT, {**data("image", "image/png"), "metadata": {"vendor_metadata": {"detail": "low"}, "w": 1}}]),
        user([data("document", "image/png")]),
        user([data("document", "text/plain", base64.b64encode(b"x" * 50_000).decode())]),
        user([url("image", "https://example.org/a.png")]),
        user([url("image", "https://example.org/a.png", mimeType="image/png", title="A")]),
        user([TEXT, {**url("document", "https://example.org/a", mimeType="text/html"), "metadata": "any"}]),
        user([url("video", "https://example.org/" + "a" * 50_000)]),
    ],
    ids=lambda message: json.dumps(message)[33:80],
)
async def test_a_message_comes_back_as_it_was_sent(client: Client, message: dict):
    with script(say("I see.")) as model:
        await client.run(messages=[message])
    assert (await client.thread())["messages"][0] == message
    if isinstance(message["content"], str):  # The model is not told of the rest
        assert [part.content for part in parts_of(model.requests[0])] == ["Hi"]


SEALED = {"encryptedValue": "x", "encrypted_value": "y"}
OLD = {"type": "binary", "mimeType": "image/png", "id": "f1", "filename": "a.png"}
NEW = {**data("image", "image/png"), "id": "f1", "filename": "a.png"}


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        # What only we could have sealed, nulls, a second spelling, and a binary part, whose place another one takes.
        (user([{**TEXT, **SEALED}, {**TEXT, "id": "p"}], **SEALED), user([TEXT, {**TEXT, "id": "p"}])),
        (user(metadata=None, toolCalls=None, subagent_run_id="s", subagentRunId="s"), user(subagentRunId="s")),
        (user([{**OLD, "data": DATA}]), user([NEW])),
        (user([data("document", "text/plain", "QR==")]), user([data("document", "text/plain", "QQ==")])),
        (user([{**OLD, "url": f"data:image/png;base64,{DATA}"}]), user([NEW])),
        (
            user([{"type": "binary", "mimeType": "image/png", "url": "https://example.org/a"}]),
            user([url("image", "https://example.org/a", mimeType="image/png")]),
        ),
    ],
)
async def test_some_of_it_comes_back_in_another_form(client: Client, sent: dict, read: dict):
    assert await read_again(client, sent) == [read]


async def test_an_imported_history_comes_back_as_it_was_sent(client: Client):
    function = {"name": "echo", "arguments": '{ "text": "x" }', "hint": 1}
    history = [
        user(name="Ada"),
        {"id": "r1", "role": "reasoning", "content": "Hm", "metadata": {"seconds": 3}},
        {"id": "a1", "role": "assistant", "content": "One moment.", "name": "Bot"},
        {
            "id": "a2",
            "role": "assistant",
            "toolCalls": [
                {"id": "c1", "type": "function", "function": function, "metadata": {"shown": True}},
                {"id": "c2", "type": "function", "function": {"name": "echo", "arguments": "broken"}},
            ],
        },
        {"id": "t1", "role": "tool", "toolCallId": "c1", "content": '{"a":  1}', "metadata": {"ms": 5}},
        {"id": "t2", "role": "tool", "toolCallId": "c2", "content": [TEXT, data("image", "image/png")]},
        {"id": "a3", "role": "assistant", "content": "It says x.", "metadata": {"rating": 5}},
        {"id": "a4", "role": "assistant", "content": "Anything else?"},
        user(id="u2"),
    ]
    assert await read_again(client, *history) == history


async def test_a_result_of_the_clients_tool_comes_back_as_it_was_sent(client: Client):
    tools = [{"name": "paint", "description": "Paint", "parameters": {"type": "object", "properties": {}}}]
    results = [
        {"id": "r1", "role": "tool", "toolCallId": "p1", "content": "red", "metadata": {"ms": 5}, "at": "here"},
        {"id": "r2", "role": "tool", "toolCallId": "p2", "content": [data("image", "image/png"), TEXT]},
        {"id": "r3", "role": "tool", "toolCallId": "p3", "content": [TEXT]},
    ]
    with script([call("paint", _id=f"p{number}") for number in (1, 2, 3)], say("ok")):
        await client.run("Paint", tools=tools)
        await client.run(messages=results, tools=tools)
    assert [one for one in (await client.thread())["messages"] if one["role"] == "tool"] == results
    rows = [str(row.data) async for row in Message.objects.all()]
    assert sum(row.count(DATA) for row in rows) == 1


async def test_arguments_are_as_they_were_streamed(client: Client):
    written = ['{ "text":  "x" }', '{"text": "é", "text": "y"}', '{"text": ']
    with script([call("echo", _id=f"c{n}", _json=text) for n, text in enumerate(written)], say("ok")):
        events = await client.run("Echo")
    streamed = "".join(event["delta"] for event in events if event["type"] == "TOOL_CALL_ARGS")
    assert streamed == "".join(written)
    calls = (await client.thread())["messages"][1]["toolCalls"]
    assert [one["function"]["arguments"] for one in calls] == written


async def test_files_are_stored_once_and_nothing_where_there_is_nothing(client: Client):
    picture = {**data("image", "image/png"), "filename": "a.png"}
    await read_again(client, user([TEXT, picture], metadata={"attachments": [FILE]}), user(id="u2"))
    rows = [row.data async for row in Message.objects.all()]
    assert sum(str(row).count(DATA) for row in rows) == 1
    first, second, answer = [annotation(message, "extras") for message in codec.load_messages(rows)]
    assert first == {"u1": {"content": {"1": {"filename": "a.png"}}, "metadata": {"attachments": [FILE]}}}
    assert second is answer is None


async def test_what_a_tool_shows_the_model_is_no_message_of_the_user(client: Client):
    def show() -> ToolReturn:
        """Show a picture to the model."""
        return ToolReturn("shown", content=["Look at this:", BinaryContent(PNG, media_type="image/png")])

    with script(call("show"), say("Nice.")) as model, urls.view.agent.override(tools=[show]):
        await client.run("Show me")
    assert "Look at this:" in str(model.requests[1].messages)
    messages = (await client.thread())["messages"]
    # The user sees the picture in an activity of its own.
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "activity", "assistant"]


@pytest.mark.parametrize(
    ("sent", "known", "found"),
    [
        ({"a": [{"b": 1}, {"c": 2}]}, {"a": [{"b": 1}, {}]}, {"a": {"1": {"c": 2}}}),
        ({"a": [1]}, {"a": [{}]}, {"a": [1]}),
        ({"a": [{}, {}]}, {"a": [{}]}, {"a": [{}, {}]}),
    ],
)
def test_what_is_missing_of_a_list_completes_it(sent: dict, known: dict, found: dict):
    assert missing(sent, known) == found
    assert completed(known, found) == sent
