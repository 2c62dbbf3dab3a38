"""The agents that transcripts talk to: `agent: name` mounts one of `AGENTS`, in the place of that of urls.py."""

import asyncio
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from django.apps import apps
from pydantic import BaseModel, Field, SecretStr
from pydantic_ai import ApprovalRequired, CallDeferred, FunctionToolset, ModelRetry, RunContext, Tool
from pydantic_ai.capabilities import ProcessHistory

from agui import AgentDeps, Question, ToolRegistry, tool
from agui.testing import wait
from tests import urls

Context = RunContext[AgentDeps]
# A registry, and what else the agent's configuration has.
Agent = tuple[ToolRegistry, dict[str, Any]]
AGENTS: dict[str, Callable[[], Agent]] = {}

# What the tools have done.
effects = urls.effects


def act(effect: str, result: Any) -> Any:
    """Do what a tool is for, and return its result."""
    effects.append(effect)
    return result


class Gate:
    """A point at which a model or a tool waits until a step releases it."""

    def __init__(self) -> None:
        self.reached, self.opened = asyncio.Event(), asyncio.Event()

    def __call__(self) -> Any:
        """The part of a script at which a model waits."""
        return wait(self.opened, self.reached)

    async def passed(self) -> None:
        self.reached.set()
        await self.opened.wait()


# The gate of a name, at which a tool waits until a step releases it.
gates: Callable[[str], Gate] = {}.__getitem__


def agent(name: str) -> Callable[[Callable[[], Agent]], Callable[[], Agent]]:
    def keep(make: Callable[[], Agent]) -> Callable[[], Agent]:
        AGENTS[name] = make
        return make

    return keep


class BrokenSink:
    """An audit trail that can't be written."""

    def record(self, event: object) -> None:
        raise OSError("the sink is full")


# --- Names of tools


def looking_up(name: str) -> FunctionToolset[AgentDeps]:
    return FunctionToolset([Tool(lambda: "real", name=name)], id="more")


async def last_three(messages: list[Any]) -> list[Any]:
    return messages[-3:]


class ListOfNotes(BaseModel):
    text: list[str] = []


AGENTS |= {
    "that of urls.py": lambda: (urls.registry, {"state_type": urls.Notes}),
    "that of urls.py after a deploy": lambda: (urls.registry, {"state_type": ListOfNotes}),
    "no tools of its own": lambda: (ToolRegistry(), {}),
    "a toolset has lookup": lambda: (urls.registry, {"toolsets": [looking_up("lookup")]}),
    "a prefixed toolset has my_lookup": lambda: (urls.registry, {"toolsets": [looking_up("lookup").prefixed("my")]}),
    "two toolsets have my_lookup": lambda: (
        ToolRegistry(),
        {"toolsets": [looking_up("my_lookup"), looking_up("lookup").prefixed("my")]},
    ),
    "reads its last messages only": lambda: (urls.registry, {"capabilities": [ProcessHistory(last_three)]}),
}


@agent("mentions people")
def make_mentions() -> Agent:
    # By its name, as conftest.py takes an import for a part that all transcripts need.
    records = import_module(f"{apps.get_app_config('agui_mentions').name}.records")
    return urls.registry, {"capabilities": [records.Mentions(lambda user, text: [])]}


@agent("shows documents")
def make_showing() -> Agent:
    show_document = import_module(f"{apps.get_app_config('agui_documents').name}.show").show_document
    registry = ToolRegistry()

    @tool(registry)
    async def show(
        ctx: Context, id: str, content: Any = "", about: dict[str, Any] | None = None, more: tuple[str, ...] = ()
    ) -> str:
        """Show a document, and more of its text."""
        document = await show_document(ctx, id, content, **(about or {}))
        for text in more:
            await document.append(text)
        return "shown"

    return registry, {}


@agent("suggests what to say next")
def make_suggesting(**options: Any) -> Agent:
    follow_ups = import_module(f"{apps.get_app_config('agui_suggestions').name}.follow_ups")
    return urls.registry, {"capabilities": [follow_ups.FollowUps(**options)]}


AGENTS["suggests two things to say next"] = lambda: make_suggesting(count=2)
AGENTS["suggests in no time"] = lambda: make_suggesting(timeout_seconds=0.05)


# --- Many tools


def numbered(count: int, toolsets: Any = (), **more: dict[str, Any]) -> Agent:
    """Tools `number_0` and so on, and others with their options."""
    registry = ToolRegistry()
    for number in range(count):
        registry.add(lambda: "done", name=f"number_{number}", description=f"Do thing {number}.")
    for name, options in more.items():
        registry.add(lambda: "done", name=name, description=f"Do the {name} thing.", **options)
    return registry, {"toolsets": toolsets}


AGENTS |= {f"{count} tools": partial(numbered, count) for count in (3, 4, 40, 41, 100)}
AGENTS |= {
    "2 tools and a rare one": partial(numbered, 2, rare={"defer_loading": True}),
    "50 tools and a frequent one": partial(numbered, 50, frequent={"defer_loading": False}),
    "2 tools and one of a toolset": lambda: numbered(2, [looking_up("lookup")]),
    "3 tools and a hidden one": partial(numbered, 3, hidden={"permission": "users.view_user"}),
    "2 tools and one that destroys": partial(numbered, 2, destroy={"destructive": True}),
}


# --- Orders that are cancelled, paid and changed

ORDERS = {1: "Ada, 408.75 €", 2: "Grace, 1199.94 €"}


def cancel(order_id: int) -> str:
    """Cancel an order."""
    return act(f"cancelled {order_id}", "cancelled")


def words(order_id: int) -> str:
    return f"Cancel the order of {ORDERS[order_id]}?"


def validate(ctx: Context, order_id: int) -> None:
    if not ctx.tool_call_approved:
        raise ApprovalRequired({"x-confirm": words(order_id)})


def cancel_if_approved(ctx: Context, order_id: int) -> str:
    """Cancel an order."""
    validate(ctx, order_id)
    return cancel(order_id)


def pay(ctx: Context, amount: int) -> str:
    """Pay."""
    if amount > 100 and not ctx.tool_call_approved:
        raise ApprovalRequired({"x-confirm": f"Really pay {amount}?"})
    return act(f"paid {amount}", "paid")


def change(order_id: int, note: str = "", urgent: bool = False) -> str:
    """Change an order."""
    return act(f"changed {order_id} {note} {urgent}", "changed")


def change_nothing(ctx: Context, order_id: int, note: str = "") -> str:
    """Change an order."""
    raise ApprovalRequired({"x-editable": False})


async def correct(ctx: Context, order_id: int) -> str:
    if order_id not in ORDERS:
        raise ModelRetry("There is no such order.")
    return "Cancel?"


def add_one_tool(name: str, function: Any, /, **options: Any) -> None:
    """An agent with one tool of a registry."""

    @agent(name)
    def make() -> Agent:
        registry = ToolRegistry()
        registry.add(function, **options)
        return registry, {}


def add_toolset(name: str, function: Any, /, **options: Any) -> None:
    """An agent with one tool of a toolset: pydantic-ai calls those by itself, and has no confirm=."""

    @agent(name)
    def make() -> Agent:
        return ToolRegistry(), {"toolsets": [FunctionToolset([Tool(function, **options)])]}


destroys: dict[str, Any] = {"name": "cancel", "destructive": True}
add_one_tool("its function asks for its words", cancel_if_approved, name="cancel")
add_one_tool("its validator asks for its words", cancel, args_validator=validate)
add_one_tool("its confirm asks for its words", cancel, **destroys, confirm=lambda ctx, order_id: words(order_id))
add_toolset("a toolset's function asks for its words", cancel_if_approved, name="cancel")
add_toolset("a toolset's validator asks for its words", cancel, args_validator=validate)
add_one_tool("its confirm is a text", cancel, **destroys, confirm="Cancel it?")
add_one_tool("its confirm lets the model correct itself", cancel, **destroys, confirm=correct)
add_one_tool("its confirm fails", cancel, **destroys, confirm=lambda ctx, order_id: ORDERS[order_id])
add_one_tool("large payments ask", pay)
add_one_tool("nothing may be changed", change, destructive=True, editable=False)
add_one_tool("a note may be changed", change, destructive=True, editable=["note"])
add_toolset("an exception says that nothing may be changed", change_nothing, name="change")


# --- A tool that one deploy or another has


def deletes(name: str, confirm: str = "Delete one row?", kind: Any = int, **options: Any) -> None:
    def delete(row: kind) -> str:
        """Delete."""
        return act(f"deleted {row}", "deleted")

    add_one_tool(name, delete, **{"summary": "Delete", **options}, confirm=confirm, destructive=True)
    add_toolset(f"{name}, with a toolset", delete, requires_approval=True)


deletes("deletes a row")
deletes("deletes a row in time", permission=None, timeout=9)
deletes("deletes a row for ever", summary="Delete for ever")
deletes("deletes all rows", "Delete all rows?")
deletes("deletes a number", kind=float)
deletes("deletes a number or a text", kind=int | str)
deletes("deletes a list", kind=list[int])


# --- A tool with defaults


class Address(BaseModel):
    street: str
    country: str = "DE"
    tags: list[str] = Field(default_factory=lambda: ["home"])


def make_sending(**options: Any) -> Agent:
    registry = ToolRegistry()

    @tool(registry, confirm="Really send it?", summary="Send a letter", **options)
    def send(ctx: Context, to: Address, body: str = "Dear Sir or Madam", copies: int = 1) -> str:
        """Send a letter."""
        if not options and not ctx.tool_call_approved:
            raise ApprovalRequired({"scope": "all"})
        return act(f"{to.country}: {body}", "sent")

    return registry, {}


AGENTS["sends letters, and asks from within"] = make_sending
AGENTS["sends letters, and asks before"] = lambda: make_sending(destructive=True)


@agent("jobs elsewhere")
def make_jobs() -> Agent:
    registry = ToolRegistry()

    @tool(registry)
    def train(name: str) -> str:
        """Train a model, which takes hours."""
        raise CallDeferred({"job": f"job of {name}"})

    @tool(registry)
    def train_to(accuracy: float) -> str:
        """Train a model to an accuracy."""
        raise CallDeferred({"response_schema": {"type": "object", "required": ["accuracy"]}})

    return registry, {}


# --- Tools for MCP clients


@agent("a shop")
def make_shop(**pays: Any) -> Agent:
    registry = ToolRegistry()

    @tool(registry, destructive=True, confirm="Really wipe it?")
    def wipe(what: str, times: int = 1) -> dict[str, str]:
        """Wipe something."""
        return act(f"wiped {what} {times}", {"wiped": what})

    @tool(registry, requires_approval=True, **pays)
    def pay(amount: int, to: str = "Bo", pin: SecretStr | None = None) -> str:
        """Pay an amount."""
        effects.append(f"paid {amount} to {to}" + (f" with {pin.get_secret_value()}" if pin else ""))
        return f"paid {amount}"

    @tool(registry)
    def transfer(ctx: Context, amount: int) -> str:
        """Ask in words that are made from the arguments."""
        if not ctx.tool_call_approved:
            raise ApprovalRequired({"x-confirm": f"Transfer {amount}?"})
        return act(f"transferred {amount}", "transferred")

    @tool(registry, requires_approval=True, permission="agui.view_run")
    def inspect() -> str:
        """Inspect."""
        return act("inspected", "a secret")

    @tool(registry, requires_approval=True, editable=["note"])
    def send(to: str, note: str = "") -> str:
        """Send a note."""
        return act(f"{to}: {note}", "sent")

    registry.add(urls.book, name="book")
    registry.add(urls.echo, name="echo")
    return registry, {}


AGENTS["a shop that asks in other words"] = lambda: make_shop(confirm="Pay it twice?")
add_one_tool("a shop that has nothing", urls.echo, name="echo")


@agent("slow tools")
def make_slow() -> Agent:
    registry = ToolRegistry()

    @tool(registry)
    async def last(text: str = "at last") -> str:
        """Last until it may end."""
        await gates("tool").passed()
        return act(text, text)

    @tool(registry, permission="agui.view_run")
    async def inspect() -> dict[str, str]:
        """Last, for those who may."""
        await gates("tool").passed()
        return {"found": "it"}

    @tool(registry)
    async def fail() -> str:
        """Fail late."""
        await gates("tool").passed()
        raise ValueError("a secret")

    @tool(registry)
    async def inquire(ctx: Context, amount: int) -> str:
        """Ask late."""
        await gates("tool").passed()
        if not ctx.tool_call_approved:
            raise ApprovalRequired({"x-confirm": f"Spend {amount}?"})
        return act(f"spent {amount}", f"spent {amount}")

    @tool(registry, requires_approval=True)
    async def pay(amount: int) -> str:
        """Ask at once, and last afterwards."""
        await gates("tool").passed()
        return act(f"paid {amount}", f"paid {amount}")

    @tool(registry)
    async def choose() -> str:
        """Ask late for a word."""
        await gates("tool").passed()
        raise Question("Which one?", answer=str)

    @tool(registry, destructive=True, confirm="Really wipe it?")
    def wipe(what: str) -> dict[str, str]:
        """Wipe something."""
        return act(f"wiped {what}", {"wiped": what})

    registry.add(urls.echo, name="echo")
    return registry, {}
