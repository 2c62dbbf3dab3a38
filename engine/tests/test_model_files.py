"""Files that a model can't read: told once, left out from then on, and never the end of a conversation."""

import json
from typing import Any

import pytest
from pydantic_ai import BinaryContent, FunctionToolset
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.fallback import FallbackModel

from agui.testing import ScriptedModel, call, fail, say
from tests.conftest import Client, parts_of, script
from tests.provider_stub import Answer, ProviderStub, Refusal
from tests.test_file_addresses import told
from tests.test_llm import answering, mounted, stub
from tests.test_multimodal import DATA, PNG, data

__all__ = ["stub"]

REFUSED = fail(ModelHTTPError(400, "m", {"error": "a secret: unsupported file"}))
CUT = "you can't read"


def message(*parts: Any, message_id: str = "u1") -> dict[str, Any]:
    return {"id": message_id, "role": "user", "content": [{"type": "text", "text": "Look"}, *parts]}


IMAGE = data("image", "image/png")


def files_of(request: Any) -> list[bytes]:
    contents = [part.content for part in parts_of(request) if isinstance(getattr(part, "content", None), list)]
    return [item.data for content in contents for item in content if isinstance(item, BinaryContent)]


async def test_a_file_that_the_provider_refuses_is_told_once_and_left_out(client: Client):
    with script(REFUSED, say("I can't see it."), say("Hello."), say("Bye.")) as model:
        first = await client.run(messages=[message(IMAGE)])
        second = await client.run("Hello?")
        thread = await client.thread()
        third = await client.run("Bye")

    assert [one[-1]["type"] for one in (first, second, third)] == ["RUN_FINISHED"] * 3
    assert [len(files_of(request)) for request in model.requests] == [1, 0, 0, 0]
    assert all(CUT in str(request.messages) for request in model.requests[1:])
    [note] = told(first)
    assert note["files"] == [{"mime": "image/png", "size": len(PNG)}]
    assert told(second) == told(third) == []
    answer = next(one for one in thread["messages"] if one["id"] == note["messageId"])
    assert answer["metadata"]["files_left_out"] == note["files"]
    assert thread["messages"][0] == message(IMAGE)  # The user still has it
    assert "a secret" not in json.dumps([first, thread])


@pytest.mark.parametrize(
    ("answers", "sent", "left_out"),
    [
        ([REFUSED, say("No.")], [1, 2, 1, 1], 1),
        ([REFUSED, REFUSED, say("No.")], [1, 2, 1, 0, 0], 2),  # They are not the reason
    ],
)
async def test_the_files_that_came_last_are_suspected_first(client: Client, answers: Any, sent: Any, left_out: int):
    good, bad = message(IMAGE, message_id="u1"), message(data("document", "application/pdf"), message_id="u2")
    with script(say("A dot."), *answers, say("Yes.")) as model:
        await client.run(messages=[good])
        [note] = told(await client.run(messages=[bad]))
        await client.run("Go on")
    assert [len(files_of(request)) for request in model.requests] == sent
    assert len(note["files"]) == left_out


async def test_if_no_file_is_the_reason_the_first_failure_is_told_and_nothing_is_left_out(client: Client):
    with script(REFUSED, REFUSED, say("Now.")) as model:
        events = await client.run(messages=[message(IMAGE)])
        again = await client.run("Again")
    assert events[-1]["code"] == "model_refused"
    assert [len(files_of(request)) for request in model.requests] == [1, 0, 1]
    assert told(again) == []


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (RuntimeError("gone"), "internal_error"),
        *((ModelHTTPError(status, "m"), "model_refused") for status in (401, 403, 404)),
        *((ModelHTTPError(status, "m"), "model_unavailable") for status in (429, 500)),
    ],
)
async def test_other_failures_leave_no_file_out(client: Client, failure: Exception, code: str):
    with script(fail(failure), say("Now.")) as model:
        events = await client.run(messages=[message(IMAGE)])
        await client.run("Again")
    assert events[-1]["code"] == code
    assert [len(files_of(request)) for request in model.requests] == [1, 1]


@pytest.mark.parametrize(
    ("model", "part"),
    [
        ("openai:gpt-5.6-terra", data("video", "video/mp4")),
        ("openai-chat:gpt-5.6-terra", data("video", "video/mp4")),
        ("openai-chat:gpt-5.6-terra", data("audio", "audio/ogg")),
        ("openai-chat:gpt-5.6-terra", data("document", "text/plain")),  # This is not a text.
        ("openai-chat:gpt-5.6-terra", data("document", "application/x-unknown")),
        ("openai:gpt-5.6-terra", data("document", "application/x-unknown")),
        ("anthropic:claude-sonnet-5-5", data("audio", "audio/wav")),
        ("anthropic:claude-sonnet-5-5", data("video", "video/mp4")),
        ("anthropic:claude-sonnet-5-5", data("document", "application/x-unknown")),
    ],
    ids=lambda value: value if isinstance(value, str) else value["source"]["mimeType"],
)
async def test_a_kind_that_the_model_class_knows_nothing_of(client: Client, stub: ProviderStub, model: str, part: Any):
    """It failed before any request left, in each later turn again."""
    pytest.importorskip(model.split(":")[0].removesuffix("-chat"))
    stub.replies = [Answer("I can't hear it."), Answer("Hello.")]
    with answering(model=model):
        first = await client.run(messages=[message(part)])
        second = await client.run("Hello?")
    assert [one[-1]["type"] for one in (first, second)] == ["RUN_FINISHED"] * 2
    assert len(told(first)) == 1
    assert told(second) == []
    assert all(CUT in json.dumps(request.body) for request in stub.requests)
    assert DATA not in json.dumps([request.body for request in stub.requests])


async def test_a_refusal_by_the_provider_itself(client: Client, stub: ProviderStub):
    pytest.importorskip("openai")
    stub.replies = [
        Refusal(400, {"error": {"message": "Invalid image", "code": "invalid"}}),
        Answer("No."),
        Answer("Hi."),
    ]
    with answering(model="openai:gpt-5.6-terra"):
        first = await client.run(messages=[message(IMAGE)])
        await client.run("Hello?")
    assert len(told(first)) == 1
    assert [DATA in json.dumps(request.body) for request in stub.requests] == [True, False, False]


async def test_each_model_of_a_chain_is_sent_what_it_can_read(client: Client):
    one, other = ScriptedModel([REFUSED, fail(ModelHTTPError(503, "m"))]), ScriptedModel([say("A dot.")])
    with mounted(model=FallbackModel(one, other)):
        await client.run(messages=[message(IMAGE)])
    assert [len(files_of(request)) for request in (*one.requests, *other.requests)] == [1, 0, 1]


async def test_a_file_of_a_tool_is_left_out_too(client: Client):
    def shoot() -> Any:
        """Take a shot."""
        return ["Here:", BinaryContent(PNG, media_type="image/png")]

    model = ScriptedModel([call("shoot"), REFUSED, call("shoot"), say("Hm.")])
    with mounted(model=model, toolsets=[FunctionToolset([shoot])]):
        events = await client.run("Shoot")
    assert events[-1]["type"] == "RUN_FINISHED"
    assert [str(PNG) in str(request.messages) for request in model.requests] == [False, True, False, False]
    assert len(told(events)[0]["files"]) == 1
