"""The endpoints of one agent, by the names of their routes in urls.py."""

from typing import TypeAlias

from django.utils.module_loading import import_string

from agui import parts
from agui.agents.skills import SkillRegistry
from agui.http.thread_actions import ThreadCancelView, ThreadEventsView, ThreadForkView
from agui.http.threads import ThreadsView, ThreadView
from agui.http.views import AgentView, CapabilitiesView, DjangoAGUIView, SkillsView, ToolsView
from agui.tools.registry import ToolRegistry

Endpoints: TypeAlias = dict[str, AgentView]


def make_endpoints(
    view: DjangoAGUIView, tools: ToolRegistry | None, skills: SkillRegistry | None
) -> Endpoints:
    """Make every endpoint beside `view`, with its policy. `tools` and `skills` replace its own."""
    access = view.access
    listed_tools: DjangoAGUIView | ToolRegistry = view
    if tools is not None and tools is not view.endpoint.registry:
        listed_tools = tools
    thread = ThreadView(**access)
    endpoints: Endpoints = {
        "run": view,
        "tools": ToolsView(listed_tools, **access),
        "skills": SkillsView(view.endpoint.skills if skills is None else skills, **access),
        "capabilities": CapabilitiesView(view, **access),
        "threads": ThreadsView(**access),
        "thread-events": ThreadEventsView(thread, **access),
        "thread-cancel": ThreadCancelView(thread, **access),
        "thread-fork": ThreadForkView(thread, **access),
        "thread": thread,
    }
    for part in parts.installed():
        for name, (_, path) in part.routes().items():
            endpoints[name] = import_string(path).mounted(view)
    return endpoints
