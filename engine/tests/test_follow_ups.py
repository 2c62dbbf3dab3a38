"""Which model makes suggestions, and who can not have them. (transcripts/follow_ups.yaml has what comes of them.)"""

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from agui import AgentConfig, DjangoAGUIView, ToolRegistry
from agui.contrib.demo.model import build_demo_model
from agui.contrib.suggestions.follow_ups import FollowUps
from agui.testing import ScriptedModel, call, say
from tests.conftest import Client
from tests.mounting import mounted
from tests.test_titles import RealModel


def suggested(events: list[dict[str, Any]]) -> Any:
    return [event["value"]["suggestions"] for event in events if event.get("name") == "follow_ups"]


@pytest.mark.parametrize(
    ("options", "left_out", "message"),
    [
        ({"model": "nobody:knows"}, "", "'nobody:knows' can't be used"),
        ({}, "agui.contrib.suggestions", r"add 'agui\.contrib\.suggestions' to INSTALLED_APPS"),
    ],
)
def test_an_agent_that_can_not_make_them_is_refused(settings: Any, options: Any, left_out: str, message: str):
    settings.INSTALLED_APPS = [name for name in settings.INSTALLED_APPS if name != left_out]
    view = DjangoAGUIView(ToolRegistry(), AgentConfig(model="demo", capabilities=[FollowUps(**options)]))
    with pytest.raises(ImproperlyConfigured, match=message):
        view.agent  # noqa: B018


async def test_who_answers_makes_them_or_a_smaller_model_and_not_the_demo(client: Client):
    suggestion = call("final_result", response=["Next"])
    chosen = ScriptedModel([say("Yes."), suggestion])
    with mounted(model=ScriptedModel([]), models={"chosen": chosen}, capabilities=[FollowUps()]):
        assert suggested(await client.run("Hi", forwardedProps={"model": "chosen"})) == [["Next"]]
    small, large = ScriptedModel([suggestion]), ScriptedModel([say("Yes.")])
    ups = FollowUps(model=small, count=2, instructions='At most {count}. No {"json"}.')
    with mounted(model=large, capabilities=[ups]):
        assert suggested(await client.run("Hi")) == [["Next"]]
    assert small.requests[0].instructions == 'At most 2. No {"json"}.'
    for model in (None, RealModel([])):
        with mounted(model=build_demo_model(pace_seconds=0), capabilities=[FollowUps(model=model)]):
            events = await client.run("help")
        assert (suggested(events), events[-1]["type"]) == ([], "RUN_FINISHED")
        assert model is None or model.requests == []
