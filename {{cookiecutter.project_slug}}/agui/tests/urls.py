"""An agent to test the engine with: its tools, its endpoint."""

from pydantic import BaseModel
from pydantic_ai import RunContext
from pydantic_ai.models.test import TestModel

from agui import AgentConfig, AgentDeps, DjangoAGUIView, SkillRegistry, ToolRegistry, get_urls, tool

registry = ToolRegistry()
skills = SkillRegistry()
skills.add("brief", "Be brief", "Answer in one sentence: {question}", chip=True)
skills.add("review", "Review", server_prompt="Review what was said as an editor would.")

# What the tools have done.
effects: list[str] = []


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
def recall(ctx: RunContext[AgentDeps]) -> str:
    """Read the note."""
    return str(ctx.deps.state.text)


view = DjangoAGUIView(registry, AgentConfig(model=TestModel(), state_type=Notes), skills=skills)
open_view = DjangoAGUIView(registry, AgentConfig(model=TestModel()), require_authenticated=False)

urlpatterns = [*get_urls(view), *get_urls(open_view, "open/")]
