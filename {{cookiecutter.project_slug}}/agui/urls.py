"""Every endpoint of one agent under one prefix, with one policy for all of them."""

from typing import Any

from django.urls import URLPattern, URLResolver, include, path

from agui.attachments import AttachmentsView
from agui.threads import ThreadCancelView, ThreadEventsView, ThreadsView, ThreadView
from agui.views import CapabilitiesView, DjangoAGUIView, SkillsView, ToolsView


def get_urls(view: DjangoAGUIView, prefix: str = "agent/") -> list[URLPattern | URLResolver]:
    """Mount the agent: names are in the namespace "agui", routes answer with and without the last slash."""
    access: dict[str, Any] = {"get_user": view.get_user, "require_authenticated": view.require_authenticated}
    attachments = AttachmentsView(**access)
    routes = [
        ("", view, "run"),
        ("tools/", ToolsView(view.registry, **access), "tools"),
        ("skills/", SkillsView(view.skills, **access), "skills"),
        ("capabilities/", CapabilitiesView(view.registry, view.config, **access), "capabilities"),
        ("threads/", ThreadsView(**access), "threads"),
        # The longer routes first: a thread's id may itself hold slashes.
        ("threads/<path:thread_id>/events/", ThreadEventsView(**access), "thread-events"),
        ("threads/<path:thread_id>/cancel/", ThreadCancelView(**access), "thread-cancel"),
        ("threads/<path:thread_id>/", ThreadView(**access), "thread"),
        ("attachments/", attachments, "attachments"),
        ("attachments/<uuid:attachment_id>/", attachments, "attachment"),
    ]
    # A redirect would lose a POST's body.
    bare = [path(f"{prefix}{route}".rstrip("/"), endpoint) for route, endpoint, _ in routes]
    named = [path(route, endpoint, name=name) for route, endpoint, name in routes]
    return [path(prefix, include((named, "agui"))), *bare]
