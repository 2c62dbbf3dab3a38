"""The engine: an AG-UI endpoint for a pydantic-ai agent. Yours to read; upgrades come from the template.

A request passes through the files in this order:

    urls.py        every endpoint of one agent under one prefix
                   (endpoints.py: the endpoints, made at the first request; discovery.py: what they need;
                   admission.py: how much of a request's body is read)
    views.py       the endpoints, as lists of steps
    auth.py        who acts (tokens.py: API tokens; throttle.py: how often; budgets.py,
                   keep_budget.py: for how much)
    protocol.py    body to RunAgentInput, stored messages to AG-UI's
                   (bodies.py: a request's bytes and JSON; verbatim.py: stored messages as a client knows them)
                   (foreign_schemas.py: how much the schemas of a client's tools say)
    history.py     what is new in this request
                   (incoming.py: a client's messages as the model's; attached.py: the files that they name)
    interrupts.py  what a paused thread asks, and what a resume answers
                   (definitions.py: what an approval holds for)
    agent.py       the agent, and what a run gives to its tools
                   (llm.py: which model answers; keys.py: the keys of models)
    model_files.py the files that a model is sent, and those that it can't read
                   (file_addresses.py: which addresses a provider opens)
    tools.py       the registry behind `@tool`, and how a run calls its tools
                   (tool_schema.py: function to JSON Schema; approval.py: who may, and after which question;
                   tool_search.py: many tools; results.py: how much of a result; executor.py: threads for
                   blocking code)
    audit.py       who called which tool, and how it ended
                   (audit_trail.py: why calls failed, and the calls of runs that no endpoint serves;
                   secret_arguments.py: what nobody is to read afterwards)
    runs.py        one run: start, follow, cancel
                   (shutdown.py: what becomes of runs when the server ends; pacing.py: readers that are slow)
    active_run.py  what is kept of a run: while it is at work, and however it ends
                   (additions.py: what it adds; checkpoints.py: what a killed process must not take along;
                   processes.py: which processes are alive; fence.py: no tool for a run that another one has;
                   usage.py, money.py: what it costs; telemetry.py: what OpenTelemetry and the log hear of it, otel.py,
                   log_fields.py)
    runlog/        where a run's events wait for readers
    deltas.py      what a model says, joined while it comes fast
    shortcut.py    texts go straight to the log; all else takes the way through
    stream.py      from the events of a run to bytes
    parts.py       one part of an answer after the other
    progress.py    steps, activities and the shared state, as a client can follow them
                   (differences.py: what has changed in them, if that is quick to say)
    follow_ups.py  what the user may want to say next
    activities.py  plans, tables and charts in one line
    stores/        where conversations are kept
    threads.py     the threads of a user (feedback.py: what he thinks of answers)

Beside the path: conf.py (conf_sections.py) has the settings and checks.py what is said at start-up, errors.py what
clients are told (failures.py: what is known of a run that failed), models.py and admin.py the tables (admin_lists.py,
admin_budgets.py, admin_tokens.py, dashboard.py with figures.py and dashboard_charts.py, transcript.py), export.py all
that is kept of a user, skills.py and catalog.py what a page offers, attachments.py the uploads, voice.py speech to
text, read_attachment.py the model's way to them, demo.py the offline model, testing.py a scripted one for tests,
evals.py the cases of `make eval`, terminal/ the chat of `manage.py chat`, client/ the agents of others, mcp/ their
tools, and ours for them, drf_mcp.py the services of Django REST framework, later.py what keeps all of it out of the
commands that need no agent.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_ai.conversation import Conversation
    from pydantic_ai.conversation_store import ConversationStore

    from agui.activities import show_chart, show_plan, show_table
    from agui.agent import DEFAULT_SYSTEM_PROMPT, AgentConfig, AgentDeps, AgentFactoryFn, build_agent
    from agui.audit import (
        AuditEvent,
        AuditLogger,
        LoggingAuditLogger,
        ModelAuditLogger,
        NullAuditLogger,
        resolve_audit_logger,
    )
    from agui.catalog import build_tool_catalog
    from agui.follow_ups import FollowUps
    from agui.interrupts import Question
    from agui.progress import show_activity, step
    from agui.skills import SkillRegistry, SkillSpec
    from agui.stores.model import ModelConversationStore
    from agui.stores.null import NullConversationStore
    from agui.stores.session import DjangoSessionConversationStore
    from agui.tools import (
        X_CATEGORY_KEY,
        X_CONFIRM_KEY,
        X_DESTRUCTIVE_KEY,
        X_SUMMARY_KEY,
        ToolBinding,
        ToolCategory,
        ToolRegistry,
        ToolSpec,
        build_input_schema,
        needs_confirmation,
        tool,
    )
    from agui.urls import get_urls
    from agui.views import DjangoAGUIView, SkillsView, ToolsView

# Imported on first use: every command imports this package, and few need pydantic-ai. Some modules need Django's
# models, too, which aren't there yet when Django imports this package.
_MODULES = {
    "AgentConfig": "agui.agent",
    "AgentDeps": "agui.agent",
    "AgentFactoryFn": "agui.agent",
    "AuditEvent": "agui.audit",
    "AuditLogger": "agui.audit",
    "Conversation": "pydantic_ai.conversation",
    "ConversationStore": "pydantic_ai.conversation_store",
    "DEFAULT_SYSTEM_PROMPT": "agui.agent",
    "DjangoAGUIView": "agui.views",
    "DjangoSessionConversationStore": "agui.stores.session",
    "DrfMcpToolset": "agui.drf_mcp",  # An extra
    "FollowUps": "agui.follow_ups",
    "LoggingAuditLogger": "agui.audit",
    "ModelAuditLogger": "agui.audit",
    "ModelConversationStore": "agui.stores.model",
    "NullAuditLogger": "agui.audit",
    "NullConversationStore": "agui.stores.null",
    "Question": "agui.interrupts",
    "SkillRegistry": "agui.skills",
    "SkillSpec": "agui.skills",
    "SkillsView": "agui.views",
    "ToolBinding": "agui.tools",
    "ToolCategory": "agui.tools",
    "ToolRegistry": "agui.tools",
    "ToolSpec": "agui.tools",
    "ToolsView": "agui.views",
    "X_CATEGORY_KEY": "agui.tools",
    "X_CONFIRM_KEY": "agui.tools",
    "X_DESTRUCTIVE_KEY": "agui.tools",
    "X_SUMMARY_KEY": "agui.tools",
    "build_agent": "agui.agent",
    "build_input_schema": "agui.tools",
    "build_tool_catalog": "agui.catalog",
    "get_urls": "agui.urls",
    "needs_confirmation": "agui.tools",
    "resolve_audit_logger": "agui.audit",
    "show_activity": "agui.progress",
    "show_chart": "agui.activities",
    "show_plan": "agui.activities",
    "show_table": "agui.activities",
    "step": "agui.progress",
    "tool": "agui.tools",
}

__all__ = [
    "DEFAULT_SYSTEM_PROMPT",
    "X_CATEGORY_KEY",
    "X_CONFIRM_KEY",
    "X_DESTRUCTIVE_KEY",
    "X_SUMMARY_KEY",
    "AgentConfig",
    "AgentDeps",
    "AgentFactoryFn",
    "AuditEvent",
    "AuditLogger",
    "Conversation",
    "ConversationStore",
    "DjangoAGUIView",
    "DjangoSessionConversationStore",
    "FollowUps",
    "LoggingAuditLogger",
    "ModelAuditLogger",
    "ModelConversationStore",
    "NullAuditLogger",
    "NullConversationStore",
    "Question",
    "SkillRegistry",
    "SkillSpec",
    "SkillsView",
    "ToolBinding",
    "ToolCategory",
    "ToolRegistry",
    "ToolSpec",
    "ToolsView",
    "build_agent",
    "build_input_schema",
    "build_tool_catalog",
    "get_urls",
    "needs_confirmation",
    "resolve_audit_logger",
    "show_activity",
    "show_chart",
    "show_plan",
    "show_table",
    "step",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
