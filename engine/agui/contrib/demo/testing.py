"""The demo model with a project's own tools, for its tests.

    for address, view in agui.contract.agents().items():
        chat = demo_chat(ada, address)
        for tool in view.registry:
            answer = await chat.send(example_of(tool))

agui/contract_tests.py uses these functions.
"""

from typing import Any

from agui.contrib.demo import schemas
from agui.contrib.demo.model import build_demo_model
from agui.testing import Chat
from agui.tools.call import build_tool
from agui.tools.registry import ToolBinding


def demo_chat(user: Any, address: str = "/agent/") -> Chat:
    """Start a chat of a user with an agent whose model is the demo model, without its pauses."""
    model = build_demo_model(pace_seconds=0)
    return Chat(user, model=model, url=address)


def example_of(tool: ToolBinding) -> str:
    """Write a message that makes the demo model call a tool, with arguments for its schema."""
    definition = build_tool(tool).tool_def
    return schemas.example_of(definition)
