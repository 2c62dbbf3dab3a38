"""What a client may not make the server do. (transcripts/safety.yaml has what it may hand to the model.)"""

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from pydantic_ai.messages import FileUrl

from agui import AgentConfig, conf
from agui.agents.config import usage_limits
from agui.testing import ScriptedModel, call, say
from tests import urls
from tests.conftest import Client, parts_of, results_of, script
from tests.test_llm import mounted

PAINT = [{"name": "paint", "description": "Paint", "parameters": {"type": "object", "properties": {}}}]


def image(url: str, **fields: Any) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "url", "value": url, "mimeType": "image/png"}, **fields}


def message(*parts: Any) -> dict[str, Any]:
    return {"id": "u1", "role": "user", "content": [{"type": "text", "text": "Look"}, *parts]}


def urls_of(request: Any) -> list[FileUrl]:
    contents = [part.content for part in parts_of(request) if isinstance(getattr(part, "content", None), list)]
    return [item for content in contents for item in content if isinstance(item, FileUrl)]


@pytest.mark.parametrize("wrong", [["file"], ["HTTP"], ["http://"], ["data"], [""], "http", None])
def test_a_wrong_scheme_is_named_at_start_up(wrong: Any):
    with pytest.raises(ImproperlyConfigured, match="ALLOWED_FILE_URL_SCHEMES"):
        conf.load({"ALLOWED_FILE_URL_SCHEMES": wrong})


@pytest.mark.parametrize("force", [True, "allow-local"])
async def test_a_client_can_not_make_the_server_download(client: Client, force: Any):
    """Neither by a message nor by the result of a tool of its own."""
    part = image("http://127.0.0.1:8000/admin/", metadata={"force_download": force})
    result = {"id": "r1", "role": "tool", "toolCallId": "p1", "content": [{"type": "text", "text": "Here"}, part]}
    with script(call("paint", _id="p1"), say("ok")) as model:
        await client.run(messages=[message(part)], tools=PAINT)
        await client.run(messages=[result], tools=PAINT)
    found = results_of(model.requests[1])["p1"].content
    files = [*urls_of(model.requests[0]), *(item for item in found if isinstance(item, FileUrl))]
    assert [file.force_download for file in files] == [False, False]


def test_every_limit_of_a_run_is_a_setting(settings: Any):
    names = ["REQUESTS", "TOOL_CALLS", "TOTAL_TOKENS", "INPUT_TOKENS", "OUTPUT_TOKENS", "REQUEST_INPUT_TOKENS"]
    settings.AGUI = {"LIMITS": {**dict(zip(names, range(1, 7), strict=True)), "COUNT_TOKENS": True}}
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
