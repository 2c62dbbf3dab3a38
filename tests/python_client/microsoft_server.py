"""An endpoint that is not the project's: Microsoft Agent Framework's, which speaks AG-UI 0.1."""

import sys
from typing import Any
from uuid import uuid4

import uvicorn
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    tool,
)
from agent_framework.ag_ui import add_agent_framework_fastapi_endpoint, state_update
from fastapi import FastAPI
from plan import ARGUMENTS, next_step


class Scripted(FunctionInvocationLayer, BaseChatClient):
    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **kwargs: Any) -> Any:
        users, results = [], []
        for message in messages:
            if message.role == "user" and message.text:
                users.append(message.text)
                results = []
            results += [str(one.result) for one in message.contents if one.type == "function_result"]

        async def updates() -> Any:
            step = next_step(users, results)
            if isinstance(step, str):
                contents = [Content.from_text(step)]
            else:
                contents = [
                    Content.from_function_call(f"call-{uuid4().hex}", name, arguments=ARGUMENTS[name]) for name in step
                ]
            for content in contents:
                yield ChatResponseUpdate(contents=[content], role="assistant")

        async def whole() -> Any:
            return ChatResponse.from_updates([update async for update in updates()])

        return self._build_response_stream(updates()) if stream else whole()


@tool
def echo(text: str) -> Content:
    """Repeat a text."""
    return state_update(text, state={"text": text})


@tool(approval_mode="always_require")
def wipe(what: str) -> str:
    """Wipe something."""
    return f"wiped {what}"


if __name__ == "__main__":
    application = FastAPI()
    agent = Agent(Scripted(), name="scripted", tools=[echo, wipe])
    add_agent_framework_fastapi_endpoint(application, agent, "/", single_user=True)
    uvicorn.run(application, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
