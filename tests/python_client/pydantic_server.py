"""An endpoint that is not the project's: pydantic-ai's own adapter on Starlette, stateless as it comes."""

import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import uvicorn
from ag_ui.core import EventType, StateSnapshotEvent
from plan import ARGUMENTS, next_step
from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, RunContext, ToolReturn
from pydantic_ai.messages import ModelMessage, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.routing import Route


class Notes(BaseModel):
    text: str = ""


@dataclass
class Deps:
    state: Notes


async def answer(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
    users, results = [], []
    for part in (part for message in messages for part in message.parts):
        if isinstance(part, UserPromptPart):
            users.append(part.content if isinstance(part.content, str) else str(part.content[0]))
            results = []
        elif isinstance(part, ToolReturnPart):
            results.append(part.model_response_str())
    step = next_step(users, results)
    if isinstance(step, str):
        yield step
    else:
        for index, name in enumerate(step):
            yield {index: DeltaToolCall(name=name, json_args=None, tool_call_id=f"call-{uuid4().hex}")}
            yield {index: DeltaToolCall(json_args=str(ARGUMENTS[name]).replace("'", '"'))}


agent = Agent(FunctionModel(stream_function=answer), deps_type=Deps, output_type=[str, DeferredToolRequests])


@agent.tool
def echo(ctx: RunContext[Deps], text: str) -> ToolReturn:
    """Repeat a text."""
    ctx.deps.state.text += text
    snapshot = StateSnapshotEvent(type=EventType.STATE_SNAPSHOT, snapshot=ctx.deps.state.model_dump())
    return ToolReturn(text, metadata=[snapshot])


@agent.tool_plain(requires_approval=True)
def wipe(what: str) -> str:
    """Wipe something."""
    return f"wiped {what}"


async def run(request: Any) -> Any:
    return await AGUIAdapter.dispatch_request(request, agent=agent, deps=Deps(Notes()), include_usage=True)


if __name__ == "__main__":
    application = Starlette(routes=[Route("/", run, methods=["POST"])])
    uvicorn.run(application, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
