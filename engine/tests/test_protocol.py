"""The capabilities that an agent tells. (transcripts/bodies.yaml has bodies of every kind.)"""

import json
from typing import get_args

from ag_ui.core import AgentCapabilities

from tests.conftest import Client


async def capabilities(client: Client) -> dict:
    found = json.loads((await client.get("capabilities/")).content)
    # Exactly AG-UI's words: a wrong one would only be an extra field.
    assert AgentCapabilities.model_validate(found).model_dump(by_alias=True, exclude_none=True) == found
    # Under `custom` are the engine's own words.
    assert all(set(section) <= known(name) for name, section in found.items() if name != "custom")
    return found


def known(name: str) -> set[str]:
    section = next(field for field in AgentCapabilities.model_fields.values() if field.alias == name)
    [model] = [one for one in get_args(section.annotation) if one is not type(None)]
    return {field.alias for field in model.model_fields.values()}


async def test_capabilities_are_those_of_the_agent(client: Client):
    found = await capabilities(client)
    assert found["humanInTheLoop"]["interrupts"] is True
    assert found["humanInTheLoop"]["approvals"] is True
    assert found["transport"]["resumable"] is True
    assert found["state"] == {"snapshots": True, "deltas": True, "memory": False, "persistentState": True}
    assert found["execution"] == {"codeExecution": False, "maxIterations": 25, "maxExecutionTime": 600_000}
    tools = {tool["name"]: tool for tool in found["tools"]["items"]}
    assert tools["echo"]["parameters"]["required"] == ["text"]
    assert tools["wipe"]["parameters"]["x-destructive"] is True
    assert "inspect" not in tools  # Not for this user


async def test_capabilities_follow_the_settings(client: Client, settings):
    settings.AGUI = {
        "AUTO_CONFIRM": True,
        "SEND_REASONING": False,
        "RUN_TIMEOUT_SECONDS": None,
        "LIMITS": {"REQUESTS": 3},
        "CONVERSATION_STORE": "agui.NullConversationStore",
    }
    found = await capabilities(client)
    assert found["humanInTheLoop"]["approvals"] is False
    assert found["humanInTheLoop"]["interrupts"] is False
    assert found["reasoning"]["supported"] is False
    assert found["execution"] == {"codeExecution": False, "maxIterations": 3}
    assert found["state"]["persistentState"] is False
