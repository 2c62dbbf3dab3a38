"""What a run gives to its tools."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class AgentDeps:
    """What a tool sees as `ctx.deps`. New for each run, so nothing leaks between users."""

    user: Any
    """Who acts: a Django user, possibly anonymous."""
    thread_id: str
    run_id: str
    state: Any = None
    """The thread's shared state: an instance of the config's `state_type`, or a plain dict."""
    context: list[dict[str, str]] = field(default_factory=list)
    """What the page said about itself: `description` and `value`. A client's word: data, never instructions."""
    forwarded_props: Any = None
    """Whatever the client sent along: its word, too."""
    parent_run_id: str | None = None
    scope: str = ""
    """Under which name the user's things are kept: 'user:<pk>', or 'session:<key>' of an anonymous visitor."""
    attachments: list[dict[str, Any]] = field(default_factory=list)
    """The files that the conversation names, all of them the user's own: `id`, `name`, `media_type`, `size`."""
