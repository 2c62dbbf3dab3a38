"""What the page says about itself has a limit. (transcripts/context.yaml has what becomes of it.)"""

from typing import Any

from agui.testing import say
from tests.conftest import Client, parts_of, script


async def test_it_has_a_limit(client: Client, settings: Any):
    settings.AGUI = {"MAX_CONTEXT_CHARS": 100}
    item = {"description": "The page", "value": "x"}
    with script(say("Hi"), say("Hi")) as model:
        await client.run("Hi", context=[{**item, "value": "x" * 1_000_000}])
        await client.run("Hi", context=[item] * 1000, thread="t2")
    one, many = [str(parts_of(request)[0].content) for request in model.requests]
    assert "x... (cut off)\n</page-context>" in one
    assert len(one) < 500
    assert many.count("The page") == 2
