"""agui/manual/tools.md: its programs run, and its table has every option."""

import re
from typing import Any

import pytest
from pydantic_ai.messages import ToolReturnPart

from agui.testing import call, say
from agui.tools.schema import ToolOptions
from tests import pages
from tests.conftest import Client, decision

PAGE = pages.read("tools.md").partition("\n*Part `")[0]


@pytest.fixture
def registry() -> Any:
    defined: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.S):
        exec(compile(code, "agui/manual/tools.md", "exec"), defined)  # noqa: S102
    return defined["registry"]


def test_each_option_is_on_the_page():
    first_cells = re.findall(r"^\| (`.*?) \|", PAGE, re.M)
    told = {name for cell in first_cells for name in re.findall(r"`(\w+)`", cell)}
    assert told == {"name", "description"} | set(ToolOptions.__annotations__)


async def test_its_tools_do_as_it_says(client: Client, user: Any, mount, registry):
    calls = [call("pay", amount=5), call("pay", amount=500, _id="p1"), call("train", dataset="a", _id="t1")]
    model = mount(registry, calls, say("Done."), say("Hi."))
    events = await client.run("Go")
    messages = {one["toolCallId"]: one for one in events[-1]["outcome"]["interrupts"]}
    assert messages["p1"]["message"] == "Really pay 500?"
    assert messages["t1"]["metadata"]["job"] == "training on a"
    trained = {"id": "m1", "role": "tool", "toolCallId": "t1", "content": "0.9"}
    await client.run(messages=[trained], resume=[decision("p1")])
    parts = [part for part in model.requests[1].messages[-1].parts if isinstance(part, ToolReturnPart)]
    assert {part.content for part in parts} >= {"Paid 500.", "0.9"}
    assert "forecast" not in model.requests[0].tools
    await user.groups.acreate(name="beta")
    await client.run("And now?")
    assert "forecast" in model.requests[2].tools
