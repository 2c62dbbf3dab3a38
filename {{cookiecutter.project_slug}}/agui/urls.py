"""Every endpoint of one agent under one prefix, with one policy for all of them."""

from typing import Any

from django.urls import URLPattern, URLResolver, include, path

from agui import conf
from agui.attachments import AttachmentsView, AttachmentView
from agui.export import ExportView
from agui.skills import SkillRegistry
from agui.threads import (
    ThreadCancelView,
    ThreadEventsView,
    ThreadFeedbackView,
    ThreadForkView,
    ThreadsView,
    ThreadView,
)
from agui.tools import ToolRegistry
from agui.views import AgentView, CapabilitiesView, DjangoAGUIView, SkillsView, ToolsView
from agui.voice import TranscribeView


def get_urls(
    view: DjangoAGUIView,
    prefix: str = "agent/",
    *,
    tools: ToolRegistry | None = None,
    skills: SkillRegistry | None = None,
) -> list[URLPattern | URLResolver]:
    """Mount the agent: names are in the namespace "agui", routes answer with and without the last slash.

    `tools` and `skills` are what a page is told of; by default all that the view has.
    """
    source = view if tools is None or tools is getattr(view, "registry", None) else tools
    access: dict[str, Any] = {"get_user": view.get_user, "require_authenticated": view.require_authenticated}
    thread = ThreadView(**access)
    routes: list[tuple[str, AgentView, str]] = [
        ("", view, "run"),
        ("tools/", ToolsView(source, **access), "tools"),
        ("skills/", SkillsView(view.skills if skills is None else skills, **access), "skills"),
        ("capabilities/", CapabilitiesView(view, **access), "capabilities"),
        ("threads/", ThreadsView(**access), "threads"),
        # The longer routes first: a thread's id may itself hold slashes, and even end like one of these.
        ("threads/<path:thread_id>/events/", ThreadEventsView(thread, **access), "thread-events"),
        ("threads/<path:thread_id>/cancel/", ThreadCancelView(thread, **access), "thread-cancel"),
        ("threads/<path:thread_id>/fork/", ThreadForkView(thread, **access), "thread-fork"),
        ("threads/<path:thread_id>/feedback/", ThreadFeedbackView(thread, **access), "thread-feedback"),
        ("threads/<path:thread_id>/", thread, "thread"),
        ("attachments/", AttachmentsView(**access), "attachments"),
        ("attachments/<uuid:attachment_id>/", AttachmentView(**access), "attachment"),
        ("transcribe/", TranscribeView(**access), "transcribe"),
        ("export/", ExportView(**access), "export"),
    ]
    if conf.get().mcp_endpoint:
        from agui.mcp.endpoint import McpView  # Its library is an extra

        routes.append(("mcp/", McpView(view, **access), "mcp"))
    # A redirect would lose a POST's body.
    bare = [path(f"{prefix}{route}".rstrip("/"), endpoint) for route, endpoint, _ in routes]
    named = [path(route, endpoint, name=name) for route, endpoint, name in routes]
    return [path(prefix, include((named, "agui"))), *bare]
