"""A wrong setting, at any depth, stops the start with its name and its cure."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from agui import conf


@pytest.mark.parametrize(
    ("agui", "message"),
    [
        ({"HEARTBEAT": 5}, r"AGUI\['HEARTBEAT'\] is not a setting. Remove it, or use one of: .*HEARTBEAT_SECONDS"),
        ({"LIMITS": {"REQUEST": 5}}, r"AGUI\['LIMITS'\]\['REQUEST'\] is not a setting.*REQUESTS, TOOL_CALLS"),
        ({"LIMITS": {"REQUESTS": "5"}}, r"AGUI\['LIMITS'\]\['REQUESTS'\] = '5'"),
        ({"LIMITS": 5}, r"AGUI\['LIMITS'\] = 5"),
        *(({"LIMITS": {"COST": cost}}, r"AGUI\['LIMITS'\]\['COST'\]") for cost in (0, -1, "1", True, float("nan"))),
        ({"AUTO_CONFIRM": "wipe"}, r"AGUI\['AUTO_CONFIRM'\] = 'wipe'"),
        ({"AUTO_CONFIRM": [5]}, r"AGUI\['AUTO_CONFIRM'\]\[0\] = 5"),
        ({"ON_DISCONNECT": "stop"}, r"AGUI\['ON_DISCONNECT'\] = 'stop': Input should be 'continue' or 'cancel'"),
        ({"HEARTBEAT_SECONDS": 0}, r"AGUI\['HEARTBEAT_SECONDS'\] = 0"),
        *(({"SEARCH_TOOLS_ABOVE": value}, "SEARCH_TOOLS_ABOVE") for value in (0, -1, "40", True)),
        ({"CONVERSATION_STORE": "agui.stores.base.Nothing"}, r"'agui.stores.base.Nothing' can't be imported"),
        ({"AGENT_FACTORY": 5}, r"AGUI\['AGENT_FACTORY'\] = 5"),
        ({"auto_confirm": True}, "auto_confirm"),
        ([], "AGUI = "),
    ],
)
def test_a_mistake_is_named(agui, message):
    with pytest.raises(ImproperlyConfigured, match=message) as mistake:
        conf.load(agui)
    assert "Value error" not in str(mistake.value)


def test_settings_are_read_when_used_and_all_mistakes_are_named(settings):
    assert conf.get().heartbeat_seconds == 15
    settings.AGUI = {"HEARTBEAT_SECONDS": 5.0}
    assert conf.get().heartbeat_seconds == 5
    with pytest.raises(ImproperlyConfigured, match=r"(?s)'TWO'.*'ONE'"):
        conf.load({"ONE": 1, "LIMITS": {"TWO": 2}})
