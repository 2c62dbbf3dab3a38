"""The engine: an AG-UI endpoint for a pydantic-ai agent. Yours to read; upgrades come from the template.

A request walks through these rooms from the top to the bottom. Read them in this order:

    server/     what surrounds the requests of a process
        daphne_patches.py   readers that are slow, and bodies that are large
        asgi.py             the application, with its agents built at start
        health.py           does the process live, is it ready
        logs.py             how a line of the log looks
        middleware.py       all middleware in one thread
        static_files.py     the static files of production
        bundle.py           the page's modules in one file
    http/       who asks for what
        endpoints.py        the views of one agent, by the names of their routes
        views.py            the endpoint of runs, tools and skills, as lists of steps
        threads.py          the endpoints of a user's threads
        auth.py             who acts
        tokens.py           API tokens
        sign_in.py          limits of failed attempts to sign in
        throttle.py         how often a user may ask
        admission.py        how much of a body is read, and of whom
        bodies.py           a request's bytes and JSON
        catalogs.py         what a page is told of tools and capabilities
    runs/       the life of one run
        drive.py            start, follow, cancel
        record.py           what is kept of a run, however it ends
        trim.py             what of a run's messages is kept
        drafts.py           what a killed process must not take along
        processes.py        which processes are alive
        fence.py            no tool for a run that another process has
        shutdown.py         what becomes of runs when the server ends
        log_fields.py       which run a line of the log belongs to
    turns/      what is new in a request
        take.py             the new turn of a thread
    events/     from the events of a run to frames
        stream.py           the stages, and the response
        sequence.py         one part of an answer after the other
        shortcut.py         texts go straight to the log
        join_deltas.py      a model's small deltas, joined while they come fast
        progress.py         steps, activities and the shared state
        differences.py      what has changed in a value, as a JSON Patch
        activities.py       plans, tables and charts in one line
        failures.py         what is known of a run that failed
    protocol/   what a client says, in pydantic-ai's terms, and the other way round
        messages.py         the body, the ids of messages, and stored messages as AG-UI's
        inbound.py          a client's messages as the model's
        extras.py           what a stored message can't hold of a client's
        interrupts.py       what a paused thread asks, and what a resume answers
        foreign_schemas.py  how much the schemas of a client's tools say
    agents/     who answers
        discovery.py        what an agent is made of, imported when it is first needed
        build.py            the configuration, the built agent, and what a run gives to its tools
        llm.py              which language model answers
        keys.py             the keys of language models
        skills.py           the prompts that a page offers
        model_files.py      the files that a language model is sent
        file_addresses.py   which addresses a provider opens itself
        demo/model.py       the offline demo model
        demo/choice.py      which tools a message means to it
        demo/arguments.py   which arguments it finds in a message
    tools/      what an agent can do
        registry.py         `@tool`, and how a run calls a tool
        schema.py           from a function to its JSON Schema
        approval.py         who may call a tool, and after which question
        definitions.py      what an approval holds for
        toolset.py          a registry's tools, as a run gets them
        search.py           many tools
        results.py          how much of a result is kept
        secret_arguments.py which arguments are never shown
        times.py            time zones for the times that a model writes
        audit.py            who called which tool, and how it ended
        audit_trail.py      the audit trail of runs that no endpoint serves
    runlog/     where the frames of a run wait for readers
        memory.py           the logs of this process
        redis.py            the logs of all processes
        mirror.py           copies what runs here write to Redis
        replicas.py         reads what runs elsewhere write
        scripts.py          what Redis does in one step
        server.py           the connection to Redis
        refusals.py         errors that a process tells another
    stores/     where conversations are kept
        base.py             what a store has to do
        branches.py         the versions of a thread
        model.py            in the database: the default
        rows.py             the rows of a thread
        null.py             nowhere
        codec.py            messages as JSON
        summary.py          titles, previews, and words to search for
        scoped.py           whose they are
        traces.py           what else a thread has left
    blocking/   where blocking code runs
        executor.py         bounded pools of threads, and their connections
        fair_threads.py     threads that users share
        patience.py         how long a run waits for a database that is away

Beside the rooms: conf.py (conf_sections.py) has the settings, errors.py what clients are told, models.py the tables,
admin/ their lists, urls.py the routes of an agent, checks.py what is said at start-up, testing.py a scripted model for
tests,
later.py what keeps the agent out of commands that need none.

What a project can do without is in contrib/, each part in a folder of its own.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_ai.conversation import Conversation
    from pydantic_ai.conversation_store import ConversationStore

    from agui.agents.build import DEFAULT_SYSTEM_PROMPT, AgentConfig, AgentDeps, AgentFactoryFn, build_agent
    from agui.agents.skills import SkillRegistry, SkillSpec
    from agui.contrib.session_store.store import DjangoSessionConversationStore
    from agui.contrib.suggestions.follow_ups import FollowUps
    from agui.events.activities import show_chart, show_plan, show_table
    from agui.events.progress import show_activity, step
    from agui.http.catalogs import build_tool_catalog
    from agui.http.views import DjangoAGUIView, SkillsView, ToolsView
    from agui.protocol.interrupts import Question
    from agui.stores.model import ModelConversationStore
    from agui.stores.null import NullConversationStore
    from agui.tools.audit import (
        AuditEvent,
        AuditLogger,
        LoggingAuditLogger,
        ModelAuditLogger,
        NullAuditLogger,
        resolve_audit_logger,
    )
    from agui.tools.registry import (
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

# Imported on first use: every command imports this package, and few need pydantic-ai. Some modules need Django's
# models, too, which aren't there yet when Django imports this package.
_MODULES = {
    "AgentConfig": "agui.agents.build",
    "AgentDeps": "agui.agents.build",
    "AgentFactoryFn": "agui.agents.build",
    "AuditEvent": "agui.tools.audit",
    "AuditLogger": "agui.tools.audit",
    "Conversation": "pydantic_ai.conversation",
    "ConversationStore": "pydantic_ai.conversation_store",
    "DEFAULT_SYSTEM_PROMPT": "agui.agents.build",
    "DjangoAGUIView": "agui.http.views",
    "DjangoSessionConversationStore": "agui.contrib.session_store.store",
    "DrfMcpToolset": "agui.contrib.drf_mcp.toolset",  # An extra
    "FollowUps": "agui.contrib.suggestions.follow_ups",
    "LoggingAuditLogger": "agui.tools.audit",
    "ModelAuditLogger": "agui.tools.audit",
    "ModelConversationStore": "agui.stores.model",
    "NullAuditLogger": "agui.tools.audit",
    "NullConversationStore": "agui.stores.null",
    "Question": "agui.protocol.interrupts",
    "SkillRegistry": "agui.agents.skills",
    "SkillSpec": "agui.agents.skills",
    "SkillsView": "agui.http.views",
    "ToolBinding": "agui.tools.registry",
    "ToolCategory": "agui.tools.registry",
    "ToolRegistry": "agui.tools.registry",
    "ToolSpec": "agui.tools.registry",
    "ToolsView": "agui.http.views",
    "X_CATEGORY_KEY": "agui.tools.registry",
    "X_CONFIRM_KEY": "agui.tools.registry",
    "X_DESTRUCTIVE_KEY": "agui.tools.registry",
    "X_SUMMARY_KEY": "agui.tools.registry",
    "build_agent": "agui.agents.build",
    "build_input_schema": "agui.tools.registry",
    "build_tool_catalog": "agui.http.catalogs",
    "get_urls": "agui.urls",
    "needs_confirmation": "agui.tools.registry",
    "resolve_audit_logger": "agui.tools.audit",
    "show_activity": "agui.events.progress",
    "show_chart": "agui.events.activities",
    "show_plan": "agui.events.activities",
    "show_table": "agui.events.activities",
    "step": "agui.events.progress",
    "tool": "agui.tools.registry",
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
