"""The endpoints of one agent, by the names of their routes in urls.py."""

from typing import Any, TypeAlias

from django.utils.module_loading import import_string

from agui import parts
from agui.agents.skills import SkillRegistry
from agui.http.threads import (
    ThreadCancelView,
    ThreadEventsView,
    ThreadForkView,
    ThreadsView,
    ThreadView,
)
from agui.http.views import AgentView, CapabilitiesView, DjangoAGUIView, SkillsView, ToolsView
from agui.tools.registry import ToolRegistry

Endpoints: TypeAlias = dict[str, AgentView]


def make_endpoints(
    view: DjangoAGUIView, tools: ToolRegistry | None, skills: SkillRegistry | None
) -> Endpoints:
    source = view if tools is None or tools is view.endpoint.registry else tools
    access: dict[str, Any] = {
        "get_user": view.get_user,
        "require_authenticated": view.require_authenticated,
    }
    thread = ThreadView(**access)
    found: Endpoints = {
        "run": view,
        "tools": ToolsView(source, **access),
        "skills": SkillsView(view.endpoint.skills if skills is None else skills, **access),
        "capabilities": CapabilitiesView(view, **access),
        "threads": ThreadsView(**access),
        "thread-events": ThreadEventsView(thread, **access),
        "thread-cancel": ThreadCancelView(thread, **access),
        "thread-fork": ThreadForkView(thread, **access),
        "thread": thread,
    }
    for part in parts.installed():
        found |= {
            name: import_string(path).mounted(view) for name, (_, path) in part.routes().items()
        }
    return found
