"""An agent to test the engine with: its tools, its endpoint."""

import asyncio
import threading
from dataclasses import dataclass
from datetime import date
from typing import Any

import ag_ui.core
from django.contrib.auth import get_user_model
from django.utils.translation import gettext_lazy
from pydantic import BaseModel, Field
from pydantic_ai import ApprovalRequired, CallDeferred, CustomEvent, ModelRetry, RunContext
from pydantic_ai.models.test import TestModel

from agui import (
    AgentConfig,
    AgentDeps,
    DjangoAGUIView,
    Question,
    SkillRegistry,
    ToolRegistry,
    get_urls,
    show_activity,
    step,
    tool,
)
from agui.events.progress import ProtocolEvent

registry = ToolRegistry()
skills = SkillRegistry()
skills.add("brief", "Be brief", "Answer in one sentence: {question}", chip=True)
skills.add("review", "Review", server_prompt="Review what was said as an editor would.")

# Values that JSON does not know.
ODD: dict[str, Any] = {"object": object(), "bytes": b"\xff", "circle": [], "keys": {("a", 1): 2}, "nan": float("nan")}
ODD["circle"].append(ODD["circle"])
ODD["queryset"] = get_user_model().objects.all()

# What the tools have done.
effects: list[str] = []
hanging, let_go = threading.Event(), threading.Event()
# Set by a client that has read what a tool told it.
read = asyncio.Event()


@dataclass(kw_only=True)
class Progress(CustomEvent):
    """How far a tool has come."""

    percent: int


@dataclass(kw_only=True)
class Strange(CustomEvent):
    """Something that a tool should not send."""

    value: Any


class Notes(BaseModel):
    """The shared state."""

    text: str = ""


@tool(registry)
def echo(text: str) -> str:
    """Repeat a text."""
    return text


@tool(registry)
def whoami(ctx: RunContext[AgentDeps]) -> str:
    """Say who is asking."""
    return str(ctx.deps.user.get_username())


@tool(registry, destructive=True, confirm="Really wipe it?", summary="Wipe")
def wipe(what: str = "all") -> str:
    """Wipe something."""
    effects.append(what)
    return f"wiped {what}"


class Spot(BaseModel):
    x: int


@tool(registry, requires_approval=True)
def place(spot: Spot, note: str = "") -> str:
    """Place something."""
    return f"placed at {spot.x}"


@tool(registry)
def broken() -> str:
    """Fail."""
    raise ValueError("postgres://user:hunter2@db/prod")


@tool(registry)
def note(ctx: RunContext[AgentDeps], text: str) -> str:
    """Keep a note in the shared state."""
    ctx.deps.state.text = text
    return "noted"


@tool(registry)
def clear(ctx: RunContext[AgentDeps], to: str = "object") -> str:
    """Make the shared state something odd."""
    ctx.deps.state.text = ODD[to]
    return "cleared"


@tool(registry)
def forget(ctx: RunContext[AgentDeps]) -> str:
    """Take the shared state away."""
    ctx.deps.state = None
    return "forgotten"


@tool(registry)
def ask(ctx: RunContext[AgentDeps]) -> str:
    """Ask for approval from within, with words of its own."""
    if not ctx.tool_call_approved:
        raise ApprovalRequired({"who": ctx.deps.user, "x-confirm": gettext_lazy("Shall I?")})
    effects.append("asked")
    return "asked"


@tool(registry)
def ask_oddly(ctx: RunContext[AgentDeps]) -> str:
    """Ask for approval with what has no JSON form."""
    raise ApprovalRequired({"users": ODD["circle"]})


@tool(registry)
async def ping() -> str:
    """Answer without a thread."""
    return "pong"


@tool(registry)
def hang() -> str:
    """Wait until the test lets go."""
    hanging.set()
    let_go.wait(timeout=60)
    return "at last"


@tool(registry, permission="agui.view_run")
def inspect() -> str:
    """Look at runs, for those who may: asking whether somebody may takes the database."""
    return "all is well"


@tool(registry)
def came_along(ctx: RunContext[AgentDeps]) -> list[Any]:
    """Show what came with the message."""
    return [ctx.deps.context, ctx.deps.forwarded_props, ctx.deps.parent_run_id]


@tool(registry)
def recall(ctx: RunContext[AgentDeps]) -> str:
    """Read the note."""
    return str(ctx.deps.state.text)


class Seat(BaseModel):
    """What a question asks for."""

    row: int = Field(ge=1)
    window: bool = False


@tool(registry)
def book(ctx: RunContext[AgentDeps]) -> str:
    """Ask for the seat to book."""
    raise Question("Which seat?", answer=Seat)


@tool(registry)
def choose_day() -> str:
    """Ask for a day."""
    raise Question("Which day?", answer=date)


@tool(registry)
def delegate() -> str:
    """Leave the call open without saying what for."""
    raise CallDeferred


@tool(registry)
async def work(ctx: RunContext[AgentDeps], events: list[dict[str, Any]]) -> str:
    """Tell the page of it while at work."""
    for event in events:
        match event:
            case {"step": str(name), **rest}:
                async with step(ctx, name, of=rest.get("of", ())):
                    await ctx.emit(Progress(percent=50))
                    if "until_read" in rest:
                        await read.wait()
                    if "error" in rest:
                        raise ModelRetry(rest["error"])
            case {"activity": dict(content)}:
                await show_activity(ctx, "plan", content, message_id=event.get("id"))
            case {"odd": str(kind)}:
                await ctx.emit(Strange(value=ODD[kind]))
            case {"note": str(text)}:
                ctx.deps.state.text = text
                await ctx.emit(Progress(percent=100))
            case {"raw": str(kind)}:
                fields = {name: value for name, value in event.items() if name != "raw"}
                await ctx.emit(ProtocolEvent(event=getattr(ag_ui.core, kind)(**fields)))
    return "worked"


view = DjangoAGUIView(registry, AgentConfig(model=TestModel(), state_type=Notes), skills=skills)
open_view = DjangoAGUIView(registry, AgentConfig(model=TestModel()), require_authenticated=False)
# Tests replace the models of these views.
views = [view, open_view]

urlpatterns = [*get_urls(view), *get_urls(open_view, "open/")]
