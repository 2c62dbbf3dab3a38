"""The capabilities that an agent tells. (transcripts/runs.yaml has what the settings change.)"""

from typing import get_args

from ag_ui.core import AgentCapabilities

from tests.conftest import Client


def known(name: str) -> set[str]:
    section = next(field for field in AgentCapabilities.model_fields.values() if field.alias == name)
    [model] = [one for one in get_args(section.annotation) if one is not type(None)]
    return {field.alias for field in model.model_fields.values()}


async def test_capabilities_are_those_of_the_agent(client: Client):
    found = (await client.get("capabilities/")).json()
    # Exactly AG-UI's words: a wrong one would only be an extra field.
    assert AgentCapabilities.model_validate(found).model_dump(by_alias=True, exclude_none=True) == found
    # Under `custom` are the engine's own words.
    assert all(set(section) <= known(name) for name, section in found.items() if name != "custom")
    assert found["humanInTheLoop"]["interrupts"] is True
    assert found["humanInTheLoop"]["approvals"] is True
    assert found["transport"]["resumable"] is True
    assert found["state"] == {"snapshots": True, "deltas": True, "memory": False, "persistentState": True}
    assert found["execution"] == {"codeExecution": False, "maxIterations": 25, "maxExecutionTime": 600_000}
    tools = {tool["name"]: tool for tool in found["tools"]["items"]}
    assert tools["echo"]["parameters"]["required"] == ["text"]
    assert tools["wipe"]["parameters"]["x-destructive"] is True
    assert "inspect" not in tools  # Not for this user
