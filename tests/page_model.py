"""The model of the pages that tests use: it calls the tools that a message asks for, and answers word by word.

"slow" stops halfway until the test has let it go on, "fail" fails on the first try. A conversation that begins with
"queue" tells what the model has read, to the end of a step that the test lets go on.
"""

import asyncio
import json
import re
import struct
import zlib
from pathlib import Path
from typing import Literal

from agui import AgentDeps, Question, show_view, tool
from agui.contrib.sources.cite import Source, cite
from assistant.tools import registry
from pydantic import BaseModel, Field
from pydantic_ai import BinaryImage, RunContext
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

failed = set()
gate = Path(__file__).with_suffix(".gate")


class Trip(BaseModel):
    day: Literal["Monday", "Tuesday"]
    people: int = 2
    code: str | None = Field(None, pattern="^(X|Y)")  # A group: the browser leaves it to the server


@tool(registry)
def plan_trip() -> str:
    """Plan a trip."""
    raise Question("When do you go?", answer=Trip)


@tool(registry)
def opening_hours() -> str:
    """Look up when the shop is open."""
    return cite(
        "At nine.",
        Source(title="Opening hours", url="/help/hours/", quote="We open at nine."),
        Source(title="<b>Law</b>", url="https://law.example.com/hours?a=1"),
        Source(title="A sign", url="javascript:alert(1)"),
    )


def png(width: int, height: int, shade: int) -> bytes:
    def piece(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes([shade]) * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + piece(b"IHDR", head) + piece(b"IDAT", zlib.compress(rows)) + piece(b"IEND", b"")


@tool(registry)
def draw(prompt: str, shade: int) -> BinaryImage:
    """Draw something."""
    return BinaryImage(png(300 + shade, 200, shade), media_type="image/png")


@tool(registry, read_only=True)
async def show_order(ctx: RunContext[AgentDeps], number: int) -> str:
    """Show an order."""
    await show_view(ctx, "shop/order_card.html", {"number": number, "customer": "<i>Ada</i>"}, title="Order")
    return "The user sees it."


@tool(registry, destructive=True, confirm="Cancel the order?")
def cancel_order(number: int) -> str:
    """Cancel an order."""
    return f"Order {number} is cancelled."


# What a message with this word calls. One that is JSON names its calls, and "Cancel (tool {...})" is a card's.
CALLS = {
    "both": [("add_task", {"title": "one"}), ("delete_finished_tasks", {})],
    "twice": [("delete_finished_tasks", {}), ("delete_finished_tasks", {})],
    "trip": [("plan_trip", {})],
    "order": [("show_order", {"number": 7})],
    "open?": [("opening_hours", {})],
    "Draw": [("draw", {"prompt": what, "shade": n * 100}) for n, what in enumerate(["A red fox", "A hen", ""])],
}
ANSWERS = {
    "opening_hours": "At **nine** [1], by law [2][1], not [9].\n\n- `a[1]`\n- a [link [1]](https://example.com/)",
    "draw": "Here they are.",
}


def calls_in(prompt: str, before: str) -> list[tuple[str, object]]:
    if prompt.startswith("["):
        return json.loads(prompt)
    if called := re.search(r"\((\w+) (\{.*\})\)$", prompt):
        return [(called[1], called[2])]
    if "read" in prompt:
        return [("read_attachment", {"attachment_id": one}) for one in re.findall(r'"id": "(.+?)"', before)]
    return next((calls for word, calls in CALLS.items() if word in prompt), [])


async def answer(messages, info):
    texts = [str(p.content) for m in messages for p in m.parts if p.part_kind == "user-prompt"]
    # What the page says of itself is no message.
    prompts = [one for one in texts if not one.startswith("<")] or [""]
    returns = [part for part in messages[-1].parts if part.part_kind == "tool-return"]
    if prompts[0].startswith("queue"):
        stream = tell_what_was_read(messages)
    elif returns:
        stream = tell_what_came(prompts[-1], returns)
    elif calls := calls_in(prompts[-1], texts[-2] if texts[1:] else ""):
        stream = make(calls, len(messages))
    else:
        stream = say_words(prompts[-1])
    async for one in stream:
        yield one


def opening():
    """Whether the test lets a step go on that begins now."""
    before = gate.stat().st_mtime_ns
    return lambda: gate.stat().st_mtime_ns != before


async def until(condition):
    while not condition():  # noqa: ASYNC110 - another process says so
        await asyncio.sleep(0.02)


async def make(calls, number):
    for index, (name, arguments) in enumerate(calls):
        if name == "wait":
            await until(Path(__file__).with_name(arguments).exists)
            continue
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        yield {index: DeltaToolCall(name, text, tool_call_id=f"c{number}-{index}")}


async def tell_what_came(prompt, returns):
    is_named = prompt.startswith("[") or prompt.endswith("})")
    if returns[-1].tool_name in ANSWERS:
        yield ANSWERS[returns[-1].tool_name]
    elif is_named:
        for part in returns:
            yield f"{part.tool_name} gave {part.content} | "
    else:
        async for word in say_words(prompt):
            yield word


async def say_words(prompt):
    opened = opening()
    for number in range(40 if "slow" in prompt else 4):
        yield f"word{number} "
        await asyncio.sleep(0.03 if "slow" in prompt else 0)
        if number == 20:
            await until(opened)
        if "fail" in prompt and number == 2 and prompt not in failed:
            failed.add(prompt)
            raise RuntimeError("secret detail")
    yield "end."


async def tell_what_was_read(messages):
    """Say what has come since the last answer."""
    opened = opening()
    prompts = []
    for message in messages:
        new = [part.content for part in message.parts if part.part_kind == "user-prompt"]
        prompts = [] if message.kind == "response" else [*prompts, *new]
    read = " + ".join(text for text in prompts if not text.startswith("<"))
    step = read.removeprefix("queue ")
    if step.startswith("work"):
        yield "Looking."
        yield {1: DeltaToolCall("list_tasks", "{}", tool_call_id=f"c{len(messages)}")}
    elif step.startswith("ask"):
        yield {0: DeltaToolCall("delete_finished_tasks", "{}", tool_call_id=f"d{len(messages)}")}
    else:
        yield f"Read: {read or 'nothing new'}."
    if not step.startswith(("work", "slow", "fail", "ask")):
        return
    await until(opened)
    if step.startswith("fail"):
        raise RuntimeError("no")


model = FunctionModel(stream_function=answer)
