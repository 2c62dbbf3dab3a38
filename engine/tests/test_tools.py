"""Tools: registered with what is wrong said at once, and called so that no tool can break a run."""

# With it, `RunContext[AgentDeps]` is a string at run time, as in many people's code.
from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from datetime import date
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.contrib.auth import get_user_model
from django.contrib.auth.backends import BaseBackend
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db import connections
from pydantic import ValidationError
from pydantic_ai import Agent, BinaryContent, DeferredToolRequests, DeferredToolResults, RunContext, ToolReturn
from pydantic_ai.exceptions import ModelRetry, ToolFailed, UsageLimitExceeded
from pydantic_ai.messages import ToolReturnPart

from agui import AgentDeps, ToolCategory, ToolRegistry, ToolSpec, tool
from agui.blocking import executor, workers
from agui.blocking.executor import owner, run_in_thread
from agui.blocking.workers import end_workers
from agui.testing import ScriptedModel, call, say
from agui.tools.call import DENIED, FAILED, build_toolset
from tests.conftest import create_user, until


class Agency:
    """An agent with the registry's tools, a script for a model, and what came of it."""

    def __init__(self, registry: ToolRegistry, *script: Any) -> None:
        self.model = ScriptedModel(script)
        options: Any = {"deps_type": AgentDeps, "output_type": [str, DeferredToolRequests]}
        self.agent: Agent[AgentDeps, Any] = Agent(self.model, toolsets=[build_toolset(registry)], **options)

    async def run(self, user: Any = None, **resume: Any) -> Any:
        self.result = await self.agent.run(
            None if resume else "Go", deps=AgentDeps(user=user, thread_id="t1", run_id="r1"), **resume
        )
        return self.result.output

    @property
    def results(self) -> list[tuple[str, Any]]:
        """How each call ended, and what the model was told."""
        parts = [part for message in self.result.all_messages() for part in message.parts]
        return [(part.outcome, part.content) for part in parts if isinstance(part, ToolReturnPart)]


# --- The registry


def test_registry_has_its_own_tools_in_their_order(registry):
    assert tool(registry)(slow_echo) is slow_echo
    tool(registry)(echo)
    tool(registry, name="parrot", description="Repeat.")(echo)
    assert [(binding.spec.name, binding.spec.description) for binding in registry] == [
        ("slow_echo", "Say it again, later."),
        ("echo", "Say it again."),
        ("parrot", "Repeat."),
    ]
    assert ["echo" in registry, "other" in registry, len(registry), len(ToolRegistry())] == [True, False, 3, 0]
    with pytest.raises(KeyError, match="There is no tool 'nope' in 'more'"):
        ToolRegistry("more").get("nope")


def echo(text: str) -> str:
    """Say it again.

    This is for people who read the code.

    Args:
        text: What to say.
    """
    return text


async def slow_echo(text: str) -> str:
    """Say it
    again, later.
    """
    return text


def test_register_takes_a_spec(registry):
    spec = ToolSpec(name="echo", fn=echo, description="Repeat.", category=ToolCategory.NAV)
    binding = registry.register(spec)
    assert binding is registry.get("echo")
    assert binding.spec is spec
    assert binding.input_schema["properties"] == {"text": {"description": "What to say.", "type": "string"}}
    assert binding.input_schema["x-category"] == "nav"


def test_a_decorator_without_its_registry_is_refused():
    with pytest.raises(TypeError, match=r"write @tool\(registry\)"):

        @tool
        def lost() -> str:
            """Never be called."""
            return "lost"


def mute(text: str) -> str:
    return text


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        *((echo, {"name": name}, "1 to 64 letters, digits, _ or -") for name in ("a b", "ümlaut", "a.b", "x" * 65)),
        (echo, {"category": "reads"}, "category='reads': use one of shell, "),
        (echo, {"retries": 0}, "retries=0.*Use 1 or more"),
        (echo, {"timeout": 0}, "timeout=0.*seconds above 0"),
        (echo, {"permission": "add_task"}, "permission='add_task'.*'app_label.codename'"),
        (echo, {"prepare": "always"}, "prepare"),
        (slow_echo, {}, "'slow_echo' is registered twice in 'tools': rename one, or pass name="),
        (mute, {}, "'mute' has no docstring: the model reads it to choose the tool. Write one"),
        (echo, {"colour": "red"}, r"no option 'colour'. Use one of args_validator, .*toolsets="),
        (echo, {"retries": 1, "max_retries": 2}, "which are the same"),
        (
            slow_echo,
            {"name": "other", "require_parameter_descriptions": True},
            "describe each parameter in the docstring",
        ),
        *((made, {}, "is no tool: give a function or a Tool, and a name=") for made in (42, partial(echo, text="x"))),
    ],
)
def test_what_can_not_work_is_refused_with_the_cure(registry, function, options, message):
    registry.add(slow_echo)
    registry.add(echo, name="a-Z_9" + "x" * 59)
    with pytest.raises((TypeError, ValueError), match=message):
        registry.add(function, **options)
    assert len(registry) == 2


def test_call_validates_the_arguments(registry):
    @tool(registry)
    def tomorrow(day: date, days: int = 1) -> str:
        """Say what comes after a day."""
        return f"{day.replace(day=day.day + days)}"

    assert registry.call("tomorrow", {"day": "2026-02-03"}) == "2026-02-04"
    for wrong in ({"day": "soon"}, {"day": "2026-02-03", "unknown": 1}):
        with pytest.raises(ValidationError):
            registry.call("tomorrow", wrong)


async def test_a_coroutine_function_is_called_by_acall(registry):
    @tool(registry)
    def where() -> int:
        """Say which thread this is."""
        return threading.get_ident()

    registry.add(slow_echo)
    with pytest.raises(TypeError, match=r"await registry\.acall\('slow_echo'"):
        registry.call("slow_echo", {"text": "hi"})
    assert await registry.acall("slow_echo", {"text": "hi"}) == "hi"
    assert await registry.acall("where", {}) != threading.get_ident()


def whoami(ctx: RunContext[AgentDeps]) -> str:
    """Say who asks."""
    return str(ctx.deps.user)


def test_call_passes_the_context_on(registry):
    registry.add(whoami)
    assert registry.call("whoami", {}, ctx=SimpleNamespace(deps=SimpleNamespace(user="ada"))) == "ada"
    with pytest.raises(TypeError, match="'whoami' takes a RunContext: pass it as ctx="):
        registry.call("whoami", {})


# --- What a run does with them


async def test_a_tool_is_called_with_or_without_context(registry):
    registry.add(whoami)
    registry.add(echo)
    registry.add(slow_echo)
    together = [call("whoami"), call("echo", text="a"), call("slow_echo", text="b"), call("whoami", ctx="eve")]
    agency = Agency(registry, together, say("Done"))
    assert await agency.run(user="ada") == "Done"
    assert agency.results[:3] == [("success", "ada"), ("success", "a"), ("success", "b")]
    assert agency.results[3][0] == "retried"  # An invented context does not reach the tool


# --- Failures


@pytest.mark.parametrize("is_async", [False, True], ids=["function", "coroutine"])
@pytest.mark.parametrize(
    ("error", "result"),
    [
        (RuntimeError("postgres://user:secret@db"), ("failed", FAILED)),
        (TimeoutError("secret"), ("failed", FAILED)),
        (PermissionDenied("only for staff of secret.example"), ("denied", DENIED)),
        (ToolFailed("Sold out."), ("failed", "Sold out.")),
        (ModelRetry("Higher."), ("retried", "Higher.")),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_a_failing_tool_ends_its_call_and_not_the_run(registry, caplog, error, result, is_async):
    calls = []

    def explode(ctx: RunContext[AgentDeps]) -> str:
        """Explode."""
        calls.append(1)
        raise error

    async def explode_later(ctx: RunContext[AgentDeps]) -> str:
        return explode(ctx)

    registry.add(explode_later if is_async else explode, name="explode", description="Explode.", timeout=60)
    agency = Agency(registry, call("explode"), say("Sorry"))
    assert await agency.run() == "Sorry"
    assert agency.results == [result]
    assert calls == [1]
    assert "secret" not in repr(agency.result.all_messages())
    told = [(record.name, record.levelno, record.getMessage()) for record in caplog.records]
    is_unforeseen = result == ("failed", FAILED)
    assert told == ([("agui.tools", logging.ERROR, "Tool 'explode' failed")] if is_unforeseen else [])
    assert not is_unforeseen or str(error) in caplog.records[0].exc_text


async def test_a_limit_that_a_tool_reaches_ends_the_run(registry):
    @tool(registry)
    async def delegate() -> None:
        """Ask another agent."""
        raise UsageLimitExceeded("too much")

    with pytest.raises(UsageLimitExceeded):
        await Agency(registry, call("delegate")).run()


FINE = [None, "text", 1, 1.5, [{"day": date(2026, 2, 3)}], BinaryContent(b"\xff\x00", media_type="image/png")]
OPAQUE = [object(), {"deep": [object()]}, get_user_model().objects.none(), (n for n in [1]), ToolReturn(object())]


@pytest.mark.parametrize(
    ("result", "is_fine"),
    [*((result, True) for result in FINE), *((result, False) for result in OPAQUE)],
    ids=lambda value: type(value).__name__,
)
async def test_a_result_without_json_form_fails_its_call(registry, caplog, result, is_fine):
    async def later() -> Any:
        return result

    registry.add(lambda: later(), name="look", description="Look, and return an awaitable.")
    agency = Agency(registry, call("look"), say("Well"))
    assert await agency.run() == "Well"
    assert agency.results == [("success", result) if is_fine else ("failed", FAILED)]
    assert ["has no JSON form" in record.exc_text for record in caplog.records] == ([] if is_fine else [True])


# --- Threads


async def test_an_asynchronous_tool_that_times_out_is_cancelled(registry, clock):
    ends = []

    @tool(registry, timeout=60)
    async def wait(seconds: int) -> str:
        """Wait."""
        clock.advance(seconds)
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            ends.append(seconds)
            raise
        return "waited"

    agency = Agency(registry, call("wait", seconds=60), call("wait", seconds=0), say("Done"))
    await agency.run()
    assert ends == [60]
    assert agency.results == [("retried", "Timed out after 60 seconds."), ("success", "waited")]


async def test_threads_are_as_many_as_the_setting_says(settings):
    owner.set(None)  # A test without a loop of its own may have left its user in this context, who gets fewer threads
    settings.AGUI = {"TOOL_THREADS": 6}  # A number of its own: what other tests left may still use a pool of theirs
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("here")
    started, release = threading.Semaphore(0), threading.Event()

    def work() -> str:
        started.release()
        release.wait(60)
        return variable.get()

    jobs = [asyncio.create_task(run_in_thread(work)) for _ in range(7)]
    for _ in range(6):
        assert await asyncio.to_thread(started.acquire, timeout=60)
    assert not started.acquire(blocking=False)
    release.set()
    assert await asyncio.gather(*jobs) == ["here"] * 7


async def test_an_iterator_that_ends_in_a_thread_does_not_hang():
    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(run_in_thread(next, iter([])), 60)


def query() -> Any:
    """Use the database; answer this thread's connection."""
    get_user_model().objects.exists()
    return connections["default"]


@pytest.mark.django_db(transaction=True)
async def test_connections_are_closed_unless_the_settings_say_otherwise(settings, monkeypatch):
    settings.AGUI = {"TOOL_THREADS": 1}
    assert (await run_in_thread(query)).connection is None
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 60)
    used = await run_in_thread(query)
    assert used.connection is not None
    await run_in_thread(connections.close_all)
    assert used.connection is None


@pytest.mark.django_db(transaction=True)
async def test_no_connection_is_closed_while_it_is_used():
    asked, release = threading.Event(), threading.Event()

    def ask() -> Any:
        with connections["default"].cursor() as cursor:
            cursor.execute("SELECT 1")
            asked.set()
            release.wait(60)
            return cursor.fetchone()

    answer = asyncio.create_task(run_in_thread(ask, pool="figures"))
    assert await asyncio.to_thread(asked.wait, 60)
    used, ending = workers._current, asyncio.create_task(asyncio.to_thread(end_workers))
    await until(lambda: used.has_ended)
    assert not ending.done()
    release.set()
    assert await answer == (1,)
    await ending


@pytest.mark.django_db(transaction=True)
async def test_a_thread_that_is_given_back_leaves_no_connection_open():
    seen = []

    def ask() -> None:
        seen.append((threading.current_thread(), query()))

    async with ThreadSensitiveContext():
        await sync_to_async(ask)()
        releasing = asyncio.create_task(executor._release_thread())
        await asyncio.gather(releasing, sync_to_async(ask)())
    for thread, _ in seen:
        await asyncio.to_thread(thread.join, 30)
    assert [used.connection for _, used in seen] == [None, None]


# --- Permission


@pytest.fixture
def staff(transactional_db) -> Any:
    """A user who may view users."""
    return create_user("grace", "view_user")


def count_users() -> int:
    """Count the users."""
    return get_user_model().objects.count()


@pytest.fixture
def guarded(registry) -> ToolRegistry:
    registry.add(count_users, permission="users.view_user")
    return registry


class Generous(BaseBackend):
    async def ahas_perm(self, *args: Any) -> bool:
        return True


@pytest.mark.parametrize(
    ("user", "shown"),
    [
        (None, []),
        (AnonymousUser(), []),
        # A project's user model may be an AbstractBaseUser, and no PermissionsMixin.
        (SimpleNamespace(is_authenticated=True, pk=1, has_perm="users.view_user".__eq__), ["count_users"]),
        (SimpleNamespace(is_authenticated=True, pk=1), []),
    ],
    ids=["nobody", "anonymous", "has_perm", "no permissions"],
)
async def test_users_who_have_no_permissions_of_django(guarded, user, shown, settings):
    settings.AUTHENTICATION_BACKENDS = ["tests.test_tools.Generous"]
    agency = Agency(guarded, say("Hi"))
    await agency.run(user)
    assert list(agency.model.requests[0].tools) == shown


@pytest.mark.parametrize("is_revoked", [True, False], ids=["revoked", "deactivated"])
async def test_permission_is_checked_again_on_the_call(guarded, staff, is_revoked):
    @tool(guarded)
    def revoke() -> None:
        """Take the permission away in the middle of the run."""
        if is_revoked:
            staff.user_permissions.clear()
        else:
            get_user_model().objects.filter(pk=staff.pk).update(is_active=False)

    agency = Agency(guarded, call("count_users"), call("revoke"), call("count_users"), say("Sorry"))
    assert await agency.run(staff) == "Sorry"
    assert agency.results == [("success", 1), ("success", None), ("denied", DENIED)]


# --- Approval


async def test_approval_does_not_outlive_the_permission(registry, staff):
    registry.add(count_users, destructive=True, permission="users.view_user")
    agency = Agency(registry, call("count_users"), say("Sorry"))
    [asked] = (await agency.run(staff)).approvals
    await staff.user_permissions.aclear()
    staff = await get_user_model().objects.aget(pk=staff.pk)
    answers = DeferredToolResults(approvals={asked.tool_call_id: True})
    history = agency.result.all_messages()
    assert await agency.run(staff, message_history=history, deferred_tool_results=answers) == "Sorry"
    assert "success" not in [outcome for outcome, _ in agency.results]
