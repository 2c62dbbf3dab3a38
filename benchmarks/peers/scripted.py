"""The model of every contestant: offline, and its answer is what the last message asks for.

"stream 1000 0"     so many deltas, so many milliseconds apart by the provider's clock: overdue ones come at once
"tool 50"           a call of the server's tool `echo`, and then so many deltas
anything else       five short deltas

A paced delta says when it was due, so that a client on this machine knows how late it is.
"""

import asyncio
import time
from collections.abc import AsyncIterator

from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

ANSWER = ["The ", "answer ", "is ", "forty", "-two."]
WORD = "A word or "


async def answer(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    kind, *numbers = prompt(messages).split()
    if kind == "stream":
        async for delta in paced(*map(int, numbers)):
            yield delta
    elif kind == "tool" and not isinstance(messages[-1].parts[-1], ToolReturnPart):
        yield {0: DeltaToolCall("echo", '{"text": "forty-two"}', tool_call_id=f"call-{time.monotonic_ns()}")}
    elif kind == "tool":
        for _ in range(int(numbers[0])):
            yield WORD
    else:
        for delta in ANSWER:
            yield delta


async def paced(count: int, pause_ms: int) -> AsyncIterator[str]:
    started = time.monotonic()
    for number in range(count):
        due = started + number * pause_ms / 1000
        if (early := due - time.monotonic()) > 0:
            await asyncio.sleep(early)
        yield f"{due:.4f};" if pause_ms else WORD


def prompt(messages: list[ModelMessage]) -> str:
    """What the user wrote last."""
    parts = [part for message in messages if isinstance(message, ModelRequest) for part in message.parts]
    return next(str(part.content) for part in reversed(parts) if isinstance(part, UserPromptPart))


model = FunctionModel(stream_function=answer, model_name="scripted")
