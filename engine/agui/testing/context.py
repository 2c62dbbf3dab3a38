"""The `ctx` of a tool, for tests that call it without a run."""

from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.usage import RunUsage

from agui.deps import AgentDeps
from agui.protocol.types import ActivitySnapshotEvent
from agui.testing.script import ScriptedModel


@dataclass(kw_only=True, repr=False)
class ToolContext(RunContext[AgentDeps]):
    """A `ctx` that belongs to no run. It keeps what the tool sends."""

    emitted: list[Any] = field(default_factory=list)
    """The events of `ctx.emit`, `step`, `show_activity` and their like, in order."""

    async def emit(self, event: Any, /) -> Any:
        self.emitted.append(event)
        return event

    @property
    def shown(self) -> dict[str, Any]:
        """The last content of each type of activity that the tool has shown."""
        contents = {}
        for event in self.emitted:
            activity = getattr(event, "event", None)
            if isinstance(activity, ActivitySnapshotEvent):
                contents[activity.activity_type] = activity.content
        return contents


def as_user(user: Any, *, state: Any = None, approved: bool = False) -> ToolContext:
    """Make the `ctx` that a tool gets when this user asks.

        registry.call("list_tasks", {}, ctx=as_user(ada))

    `state` is `ctx.deps.state`, and `approved` is `ctx.tool_call_approved`.
    """
    deps = AgentDeps(user=user, thread_id="t1", run_id="r1", state=state)
    if user is not None:
        deps.scope = f"user:{user.pk}"
    return ToolContext(
        deps=deps,
        model=ScriptedModel([]),
        usage=RunUsage(),
        tool_call_id="c1",
        tool_call_approved=approved,
    )
