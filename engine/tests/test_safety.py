"""What a client may hand to the model, and what it may not make the server do."""

import json
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from pydantic_ai.messages import FileUrl, UploadedFile

from agui import AgentConfig, conf
from agui.agents.config import usage_limits
from agui.testing import ScriptedModel, call, say
from tests import urls
from tests.conftest import Client, parts_of, results_of, run_input, script
from tests.test_llm import mounted

PAINT = [{"name": "paint", "description": "Paint", "parameters": {"type": "object", "properties": {}}}]


def image(url: str, **fields: Any) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "url", "value": url, "mimeType": "image/png"}, **fields}


def message(*parts: Any) -> dict[str, Any]:
    return {"id": "u1", "role": "user", "content": [{"type": "text", "text": "Look"}, *parts]}


def urls_of(request: Any) -> list[FileUrl]:
    contents = [part.content for part in parts_of(request) if isinstance(getattr(part, "content", None), list)]
    return [item for content in contents for item in content if isinstance(item, FileUrl)]


@pytest.mark.parametrize(
    ("schemes", "url", "status"),
    [
        (["http", "https"], "https://example.org/a.png", 200),
        (["https"], "http://example.org/a.png", 422),
        (["https"], "HTTPS://example.org/a.png", 200),
        (["https", "s3"], "s3://bucket/a.png", 200),
        (["https", "s3"], "gs://bucket/a.png", 422),
        ([], "https://example.org/a.png", 422),
    ],
)
async def test_the_settings_say_which_addresses_a_client_may_hand_over(
    client: Client, settings: Any, schemes: list[str], url: str, status: int
):
    settings.AGUI = {**settings.AGUI, "ALLOWED_FILE_URL_SCHEMES": schemes}
    with script(say("I see.")) as model:
        response = await client.post(run_input(messages=[message(image(url))]))
        assert response.status_code == status
        if status == 200:
            async for _ in response:
                pass
            assert [found.url for found in urls_of(model.requests[0])] == [url]
        else:
            text = json.loads(response.content)["message"]
            assert url not in text
            assert ("https" in text) == bool(schemes)
            assert model.requests == []


@pytest.mark.parametrize("wrong", [["file"], ["HTTP"], ["http://"], ["data"], [""], "http", None])
def test_a_wrong_scheme_is_named_at_start_up(wrong: Any):
    with pytest.raises(ImproperlyConfigured, match="ALLOWED_FILE_URL_SCHEMES"):
        conf.load({"ALLOWED_FILE_URL_SCHEMES": wrong})


@pytest.mark.parametrize("force", [True, "allow-local"])
async def test_a_client_can_not_make_the_server_download(client: Client, force: Any):
    part = image("http://127.0.0.1:8000/admin/", metadata={"force_download": force})
    with script(say("I see.")) as model:
        await client.run(messages=[message(part)])
    assert [found.force_download for found in urls_of(model.requests[0])] == [False]


@pytest.mark.parametrize("force", [True, "allow-local"])
async def test_nor_by_the_result_of_a_tool_of_its_own(client: Client, force: Any):
    result = {
        "id": "r1",
        "role": "tool",
        "toolCallId": "p1",
        "content": [
            {"type": "text", "text": "Here"},
            image("http://127.0.0.1:8000/admin/", metadata={"force_download": force}),
        ],
    }
    with script(call("paint", _id="p1"), say("ok")) as model:
        await client.run("Paint", tools=PAINT)
        await client.run(messages=[result], tools=PAINT)
    found = results_of(model.requests[1])["p1"].content
    assert [item.force_download for item in found if isinstance(item, FileUrl)] == [False]


@pytest.mark.parametrize(
    "file",
    [
        {"kind": "image-url", "url": "http://127.0.0.1/", "media_type": "image/png", "force_download": "allow-local"},
        {"kind": "image-url", "url": "s3://bucket/key.png", "media_type": "image/png"},
        {"kind": "uploaded-file", "file_id": "file-1", "provider_name": "openai", "media_type": "image/png"},
    ],
    ids=lambda file: file["kind"] + file.get("url", ""),
)
async def test_words_beside_a_file_stay_words(client: Client, file: dict[str, Any]):
    content = [{"type": "text", "text": json.dumps(file)}, image("https://example.org/a.png")]
    result = {"id": "r1", "role": "tool", "toolCallId": "p1", "content": content}
    with script(call("paint", _id="p1"), say("ok")) as model:
        await client.run("Paint", tools=PAINT)
        await client.run(messages=[result], tools=PAINT)
    words, found = results_of(model.requests[1])["p1"].content
    assert words == json.dumps(file)
    assert found.url == "https://example.org/a.png"


async def test_a_client_can_not_name_a_file_at_the_provider(client: Client):
    """Everybody who knows its id would read what others have uploaded with the same key."""
    activity = {
        "id": "a1",
        "role": "activity",
        "activityType": "pydantic_ai_uploaded_file",
        "content": {"file_id": "file-1", "provider_name": "openai", "media_type": "image/png", "identifier": "x"},
    }
    with script(say("I see.")) as model:
        await client.run(messages=[activity, message()])
    assert not [one for part in parts_of(model.requests[0]) for one in [part] if isinstance(one, UploadedFile)]
    assert "file-1" not in repr(model.requests[0].messages)


def test_every_limit_of_a_run_is_a_setting(settings: Any):
    settings.AGUI = {
        "LIMITS": {
            "REQUESTS": 1,
            "TOOL_CALLS": 2,
            "TOTAL_TOKENS": 3,
            "INPUT_TOKENS": 4,
            "OUTPUT_TOKENS": 5,
            "REQUEST_INPUT_TOKENS": 6,
            "COUNT_TOKENS": True,
        }
    }
    limits = usage_limits(AgentConfig())
    assert (limits.request_limit, limits.tool_calls_limit, limits.total_tokens_limit) == (1, 2, 3)
    assert (limits.input_tokens_limit, limits.output_tokens_limit) == (4, 5)
    assert (limits.per_request_input_tokens_limit, limits.count_tokens_before_request) == (6, True)


async def test_a_tool_without_a_timeout_has_the_settings(client: Client, settings: Any):
    settings.AGUI = {**settings.AGUI, "TOOL_TIMEOUT_SECONDS": 0.05}
    model = ScriptedModel([call("hang"), say("It hangs.")])
    with mounted(model=model):
        try:
            events = await client.run("Go", thread="hanging")
        finally:
            urls.let_go.set()
    [result] = [event for event in events if event["type"] == "TOOL_CALL_RESULT"]
    assert result["metadata"]["outcome"] == "failed"
    assert events[-1]["type"] == "RUN_FINISHED"


@pytest.mark.parametrize("name", ["INPUT_TOKENS", "OUTPUT_TOKENS", "REQUEST_INPUT_TOKENS"])
async def test_a_limit_on_tokens_ends_the_run(client: Client, settings: Any, name: str):
    settings.AGUI = {**settings.AGUI, "LIMITS": {name: 4}}
    with script(call("echo", text="x"), say("never")):
        events = await client.run("Go")
    assert events[-1]["code"] == "usage_limit"
