"""An agent that plays the script in the user's prompt, with a tool for each feature of the protocol.

    script: [[{"call": "echo", "arguments": {"text": "hi"}}], [{"say": "Done."}]]

holds what the model answers, one list for each request to it. Nothing is kept between requests, so
tests may come in any order and at the same time.
"""

import asyncio
import json
from base64 import b64decode
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from agui import (
    AgentConfig,
    AgentDeps,
    DjangoAGUIView,
    Question,
    ToolRegistry,
    get_urls,
    show_activity,
    step,
    tool,
)
from agui.testing import Request, ScriptedModel, Step, call, fail, say, think, wait
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt
from pydantic import BaseModel, Field
from pydantic_ai import ApprovalRequired, BinaryImage, CallDeferred, CustomEvent, RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, UserPromptPart

MARK = "script: "
PNG = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==")
SECRET = "postgres://user:hunter2@db/prod"

# What the tools have done, by thread, and what holds the model up, by name.
effects: defaultdict[str, list[str]] = defaultdict(list)
gates: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)


# --- The model


def prompt_of(message: ModelMessage) -> str:
    """The text of the user in a message."""
    contents = [part.content for part in message.parts if isinstance(part, UserPromptPart)]
    items = [item for content in contents for item in ([content] if isinstance(content, str) else content)]
    return "\n".join(item for item in items if isinstance(item, str))


def play(request: Request) -> list[Step]:
    """The answer to a request: how many the model has given since the newest script says which."""
    asked = max(index for index, message in enumerate(request.messages) if MARK in prompt_of(message))
    script, _ = json.JSONDecoder().raw_decode(prompt_of(request.messages[asked]).split(MARK)[-1])
    answered = sum(isinstance(message, ModelResponse) for message in request.messages[asked:])
    return [perform(step, request) for step in script[answered]]


def perform(step: dict[str, Any], request: Request) -> Step:
    match step:
        case {"say": text, **options}:
            return say(text, **options)
        case {"think": text, **options}:
            return think(text, **options)
        case {"call": name, **options}:
            return call(name, _chunks=options.get("chunks", 2), **options.get("arguments", {}))
        case {"wait": gate}:
            return wait(gates[gate])
        case {"fail": _}:
            return fail(RuntimeError(SECRET))
        case {"tell": "results"}:
            return say(json.dumps(request.tool_results))
        case {"tell": "conversation"}:
            parts = [part for message in request.messages for part in message.parts]
            return say(json.dumps([[part.part_kind, str(getattr(part, "content", ""))] for part in parts]))
    raise ValueError(f"Not a step: {step!r}")


def answers() -> Iterator[list[Step]]:
    while True:
        yield play(model.requests.pop())


model = ScriptedModel(answers())


# --- Its tools


class Board(BaseModel):
    """The shared state."""

    title: str = ""
    items: list[str] = []


registry = ToolRegistry()


@tool(registry)
def echo(text: str) -> str:
    """Repeat a text."""
    return text


@tool(registry)
def record(ctx: RunContext[AgentDeps], what: str) -> str:
    """Do something that must not be done twice."""
    effects[ctx.deps.thread_id].append(what)
    return f"recorded {what}"


@tool(registry)
def draw(prompt: str) -> BinaryImage:
    """Draw a picture."""
    return BinaryImage(PNG, media_type="image/png")


@tool(registry)
def broken() -> str:
    """Fail."""
    raise ValueError(SECRET)


@tool(registry, destructive=True, confirm="Really wipe it?", summary="Wipe")
def wipe(ctx: RunContext[AgentDeps], what: str) -> str:
    """Wipe something."""
    effects[ctx.deps.thread_id].append(f"wiped {what}")
    return f"wiped {what}"


@tool(registry)
def ask(ctx: RunContext[AgentDeps], what: str) -> str:
    """Ask for approval from within, with words of its own."""
    if not ctx.tool_call_approved:
        raise ApprovalRequired({"x-confirm": f"Shall I {what}?", "price": 3})
    effects[ctx.deps.thread_id].append(f"asked {what}")
    return f"asked {what}"


class Slot(BaseModel):
    """An answer of the user."""

    day: Literal["Monday", "Friday"]
    guests: int = Field(ge=1)


@tool(registry)
def schedule(what: str) -> str:
    """Ask the user for a day."""
    raise Question(f"Which day suits you for {what}?", answer=Slot)


@tool(registry)
def wonder() -> str:
    """Ask the user for anything."""
    raise CallDeferred


@tool(registry)
def title(ctx: RunContext[AgentDeps], text: str) -> str:
    """Name the board."""
    ctx.deps.state.title = text
    return "named"


@tool(registry)
def pin(ctx: RunContext[AgentDeps], text: str) -> str:
    """Pin an item to the board."""
    ctx.deps.state.items.append(text)
    return "pinned"


@tool(registry)
def inspect(ctx: RunContext[AgentDeps]) -> dict[str, Any]:
    """Say what a tool is told of the request."""
    return {
        "state": ctx.deps.state.model_dump(),
        "context": ctx.deps.context,
        "forwardedProps": ctx.deps.forwarded_props,
        "parentRunId": ctx.deps.parent_run_id,
    }


@dataclass(kw_only=True)
class Found(CustomEvent):
    count: int


@tool(registry)
async def research(ctx: RunContext[AgentDeps], topic: str, gate: str) -> str:
    """Tell of the work while it is done."""
    async with step(ctx, "Search"):
        await ctx.emit(Found(count=2))
        await show_activity(ctx, "plan", {"topic": topic, "done": []})
        ctx.deps.state.title = topic
        await show_activity(ctx, "plan", {"topic": topic, "done": ["Search"]})
    await gates[gate].wait()
    async with step(ctx, "Write"):
        ctx.deps.state.items.append("draft")
        await show_activity(ctx, "plan", {"topic": topic, "done": ["Search", "Write"]})
    return "researched"


# --- Its endpoint, and two for the tests themselves


async def read_effects(request: HttpRequest, thread_id: str) -> HttpResponse:
    return JsonResponse(effects[thread_id], safe=False)


@csrf_exempt
async def open_gate(request: HttpRequest, name: str) -> HttpResponse:
    gates[name].set()
    return HttpResponse(status=204)


view = DjangoAGUIView(registry, AgentConfig(model=model, state_type=Board))

urlpatterns = [
    *get_urls(view),
    path("effects/<thread_id>/", read_effects),
    path("gates/<name>/", open_gate),
    path("", include("config.urls")),
]
