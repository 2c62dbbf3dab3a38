"""The engine: an AG-UI endpoint for a pydantic-ai agent.

It is yours to read. Releases bring newer ones: pyproject.toml has what it needs, and distribution/
packs it, upgrades it, or puts its source into a project.

A request passes through these rooms from the top to the bottom. Each imports only rooms below it:

    server/     what surrounds the requests of a process
        asgi.py              the application, with its agents built at start
        warm_up.py           imports and builds every agent that the routes name
        health.py            does the process live, is it ready
        logs.py              how a line of the log is written
        middleware.py        all middleware in one thread
        sign_in.py           how often a sign-in may fail
        daphne_app.py        daphne for INSTALLED_APPS, imported by `runserver` alone
        versions.py          what a report of a mistake needs
    http/       who asks for what
        endpoints.py         the views of one agent, by the names of their routes
        views.py             the views of runs, tools, skills and capabilities
        threads.py           the views of a user's threads
        excerpts.py          where a search found its words
        thread_actions.py    follow, cancel and fork: the actions on a thread
        auth.py              who acts
        tokens.py            API tokens
        throttle.py          how often a user may ask
        admission.py         the largest body that each client may send
        bodies.py            the bytes of a request
        uploads.py           the file of a form
        catalogs.py          the tools and capabilities that a page lists
        sse.py               the response that follows a run
    runs/       what is the life of one run
        start.py             take the thread, store the new turn, begin
        drive.py             append the run's events to its log, until it ends
        record.py            one active run, and what is kept of it
        new_messages.py      the messages that a run has added to its thread
        deliver.py           messages of the user, read by a run that is on
        usage.py             what a run has used, with estimates for broken-off answers
        live.py              the runs of this process, and their readers
        drafts.py            drafts of runs, in case the process dies
        recovery.py          how a thread gets the drafts of a dead process
        life.py              which processes are alive
        locks.py             the lock that a process holds in PostgreSQL
        processes.py         the names of processes, and whether they exist
        fence.py             a check before each tool: does this process still have the run
        shutdown.py          how the runs end when the server ends
    turns/      what is new in this request
        take.py              find and store the new turn of a thread
        turn.py              what a run continues from: the end of the thread, and the shared state
    events/     from the events of a run to frames
        stages.py            the stages that every event passes, in order
        run_state.py         what the stages of one run share
        adapter.py           stage: pydantic-ai's events as AG-UI's, with errors masked
        progress.py          stage: steps, activities and the shared state
        frames.py            one event, one numbered frame
        join_deltas.py       a language model's deltas, joined while they come fast
        failures.py          what is known about a run that failed
        activities.py        plans and tables in one line
        shown.py             what tools show, as a client has it
        differences.py       what has changed in a value, as a JSON Patch
    protocol/   what does the client say, in pydantic-ai's terms, and the other way round
        types.py             AG-UI's types
        strict_json.py       JSON of strangers, whose values are counted first
        run_input.py         from a body to a RunAgentInput
        new_turn.py          what a request adds to its thread
        inbound.py           a client's messages as the language model's
        interrupts.py        what a paused thread asks
        answers.py           what a resume answers
        answer_schemas.py    whether an answer fits the schema of its question
        outbound.py          stored messages as a client knows them
        message_ids.py       the ids under which a client knows messages
        files.py             the files in messages, and words instead of them
    agents/     who answers
        endpoint.py          an agent with its tools, configuration and skills
        config.py            what makes an agent, apart from its tools
        build.py             the agent itself, with the tools and capabilities of the settings
        hooks.py             what the engine does around requests and tool calls
        page_context.py      what a page says about itself, as data
        discovery.py         the modules that an agent needs, imported on first use
        llm.py               which language model answers
        keys.py              the keys of language models
        prices.py            which language models have a known price
        skills.py            the prompts that a page offers
        provider_model.py    a language model, between a run and its provider
        model_history.py     the history that a language model is sent
        thinking_tags.py     thoughts between tags in its text
        model_streams.py     its answer, mended while it streams
        answer_pieces.py     the pieces of the answer
        model_failures.py    answers that can't be read, were refused, or are not whole
    tools/      what can it do
        registry.py          the registry behind `@tool`
        schema.py            from a function to its JSON Schema
        call.py              how a run calls a tool
        approval.py          who may call a tool, and after which question
        definitions.py       what an approval holds for
        questions.py         the words of a question, in which no value leaves its line
        toolset.py           a registry's tools, as a run gets them
        search.py            search among many tools
        results.py           the limit of a result
        times.py             time zones for the times that a language model writes
        audit.py             who called which tool, and how it ended
        secret_calls.py      which calls of a stored answer have secret arguments
        timer.py             from the start and the end of a call to its audit event
        redaction.py         secrets, by their names
        secret_arguments.py  arguments that nobody may read afterwards
        foreign_schemas.py   the size of schemas that others wrote
    runlog/     where do frames wait for readers
        memory.py            the logs of this process
    stores/     where are conversations kept
        base.py              what a store does
        branches.py          the versions of a thread
        tree.py              the messages of a thread as a tree
        model.py             the default: threads in the database
        rows.py              the rows of a thread
        null.py              a store that keeps nothing
        annotations.py       what the engine keeps with a message
        codec.py             messages as JSON
        summary.py           titles, previews, and words to search for
        search.py            which rows have the words
        scoped.py            the owners of threads
        deletion.py          how threads are deleted, with everything that belongs to them
    blocking/   where does blocking code run
        executor.py          calls on pools of threads, and their connections
        workers.py           the pools that event loops share, until the last loop ends
        fair_threads.py      threads that users share
        patience.py          how long a run waits for a database that is away

Every room may use conf.py (the settings) with conf_sections.py (their sections), parts.py (what a
part can add) with part_values.py, errors.py (what clients learn about errors), models.py (the
tables), actor.py (who acts), clock.py (what time it is), deps.py (what a tool sees as `ctx.deps`),
log_fields.py (the run that a line of the log belongs to), money.py (amounts of US dollars),
namespaces.py (agents, told apart), tenants.py (tenants, kept apart), statements.py (how every turn
reads and writes rows), addresses.py (which addresses are public), lazy_import.py (imports on first
use) and project_checks.py (checks that the installer runs, too). Django's other modules are above
the rooms: apps.py, checks.py, urls.py, management/ and templatetags/. Your tests use testing/,
contract.py and contract_tests.py. The optional parts are in contrib/, each in its own folder.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pydantic_ai.conversation import Conversation
    from pydantic_ai.conversation_store import ConversationStore

    from agui.agents.build import AgentFactoryFn, build_agent
    from agui.agents.config import DEFAULT_SYSTEM_PROMPT, AgentConfig
    from agui.agents.skills import SkillRegistry, SkillSpec
    from agui.contrib.charts.show import show_chart as show_chart
    from agui.contrib.documents.show import show_document as show_document
    from agui.contrib.views.show import show_view as show_view
    from agui.deps import AgentDeps
    from agui.events.activities import show_plan, show_table
    from agui.events.progress import show_activity, step
    from agui.http.catalogs import build_tool_catalog
    from agui.http.views import DjangoAGUIView, SkillsView, ToolsView
    from agui.models import AbstractConversation, get_conversation_model
    from agui.protocol.interrupts import Question
    from agui.stores.model import ModelConversationStore
    from agui.stores.null import NullConversationStore
    from agui.tools.approval import needs_confirmation
    from agui.tools.audit import (
        AuditEvent,
        AuditLogger,
        LoggingAuditLogger,
        ModelAuditLogger,
        NullAuditLogger,
        resolve_audit_logger,
    )
    from agui.tools.questions import display_value
    from agui.tools.registry import ToolBinding, ToolRegistry, tool
    from agui.tools.schema import (
        X_CATEGORY_KEY,
        X_CONFIRM_KEY,
        X_DESTRUCTIVE_KEY,
        X_SUMMARY_KEY,
        ToolCategory,
        ToolSpec,
        build_input_schema,
    )
    from agui.urls import get_urls

# On first use: few commands need pydantic-ai, and Django loads its models after this package.
_MODULES = {
    "AbstractConversation": "agui.models",
    "AgentConfig": "agui.agents.config",
    "AgentDeps": "agui.deps",
    "AgentFactoryFn": "agui.agents.build",
    "AuditEvent": "agui.tools.audit",
    "AuditLogger": "agui.tools.audit",
    "Conversation": "pydantic_ai.conversation",
    "ConversationStore": "pydantic_ai.conversation_store",
    "DEFAULT_SYSTEM_PROMPT": "agui.agents.config",
    "DjangoAGUIView": "agui.http.views",
    # These six are in parts, which a project may lack, so __all__ leaves them out.
    "DjangoSessionConversationStore": "agui.contrib.session_store.store",
    "DrfMcpToolset": "agui.contrib.drf_mcp.toolset",
    "read_file": "agui.contrib.attachments.read",
    "show_chart": "agui.contrib.charts.show",
    "show_document": "agui.contrib.documents.show",
    "show_view": "agui.contrib.views.show",
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
    "ToolCategory": "agui.tools.schema",
    "ToolRegistry": "agui.tools.registry",
    "ToolSpec": "agui.tools.schema",
    "ToolsView": "agui.http.views",
    "X_CATEGORY_KEY": "agui.tools.schema",
    "X_CONFIRM_KEY": "agui.tools.schema",
    "X_DESTRUCTIVE_KEY": "agui.tools.schema",
    "X_SUMMARY_KEY": "agui.tools.schema",
    "build_agent": "agui.agents.build",
    "build_input_schema": "agui.tools.schema",
    "build_tool_catalog": "agui.http.catalogs",
    "display_value": "agui.tools.questions",
    "get_conversation_model": "agui.models",
    "get_urls": "agui.urls",
    "needs_confirmation": "agui.tools.approval",
    "resolve_audit_logger": "agui.tools.audit",
    "show_activity": "agui.events.progress",
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
    "AbstractConversation",
    "AgentConfig",
    "AgentDeps",
    "AgentFactoryFn",
    "AuditEvent",
    "AuditLogger",
    "Conversation",
    "ConversationStore",
    "DjangoAGUIView",
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
    "display_value",
    "get_conversation_model",
    "get_urls",
    "needs_confirmation",
    "resolve_audit_logger",
    "show_activity",
    "show_plan",
    "show_table",
    "step",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _MODULES[name]
    try:
        return getattr(import_module(module), name)
    except ImportError as error:
        if name in __all__:
            raise
        part = module.split(".")[2]
        raise ImportError(f"agui.{name}: install agui-django[{part}]. ({error})") from error


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_tests(loader: Any, tests: Any, pattern: Any) -> Any:
    """End the search of `manage.py test` here: it would import every package of the engine."""
    return tests
