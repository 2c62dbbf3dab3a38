"""The dependencies that a run gives to its tools."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class AgentDeps:
    """The `ctx.deps` of a tool. New for each run, so nothing leaks between users."""

    user: Any
    """The Django user for whom the agent acts, possibly anonymous."""
    thread_id: str
    run_id: str
    state: Any = None
    """The thread's shared state: an instance of the config's `state_type`, or a plain dict."""
    context: list[dict[str, str]] = field(default_factory=list)
    """The page's own context, as `description` and `value`.

    The client wrote it, so it is data and never an instruction.
    """
    forwarded_props: Any = None
    """The other values that the client sent. It may be wrong, too."""
    parent_run_id: str | None = None
    scope: str = ""
    """The owner as one string: 'user:<pk>', or 'session:<key>' for an anonymous visitor."""
    attachments: list[dict[str, Any]] = field(default_factory=list)
    """The user's files that the conversation names: `id`, `name`, `media_type`, `size`."""
