"""Tools: registered with what is wrong said at once, and called so that no tool can break a run."""

# With it, `RunContext[AgentDeps]` is a string at run time, as in many people's code.
from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from contextlib import suppress
from dataclasses import FrozenInstanceError
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.contrib.auth import get_user_model
from django.contrib.auth.backends import BaseBackend
from django.contrib.auth.models import AnonymousUser, Permission
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.db import connections
from pydantic import ValidationError
from pydantic_ai import (
    Agent,
    BinaryContent,
    DeferredToolRequests,
    DeferredToolResults,
    FunctionToolset,
    ModelRetry,
    RunContext,
    ToolApproved,
    ToolFailed,
    ToolReturn,
    UsageLimitExceeded,
)
from pydantic_ai.messages import ToolReturnPart

from agui import AgentDeps, ToolBinding, ToolCategory, ToolRegistry, ToolSpec, needs_confirmation, tool
from agui.blocking import executor, workers
from agui.blocking.executor import owner, run_in_thread
from agui.blocking.workers import end_workers
from agui.testing import ScriptedModel, call, say
from agui.tools.approval import confirmation_metadata
from agui.tools.call import DENIED, FAILED, build_toolset
from agui.tools.schema import PARAMETERS_KEY


@pytest.fixture
def registry() -> ToolRegistry:
    return ToolRegistry()


def deps(user: Any = None) -> AgentDeps:
    return AgentDeps(user=user, thread_id="t1", run_id="r1")


class Agency:
    """An agent with the registry's tools, a script for a model, and what came of it."""

    def __init__(self, registry: ToolRegistry, *script: Any) -> None:
        self.model = ScriptedModel(script)
        self.agent: Agent[AgentDeps, Any] = Agent(
            self.model,
            deps_type=AgentDeps,
            output_type=[str, DeferredToolRequests],
            toolsets=[build_toolset(registry)],
        )

    async def run(self, user: Any = None, **resume: Any) -> Any:
        self.result = await self.agent.run(None if resume else "Go", deps=deps(user), **resume)
        return self.result.output

    async def answer(self, answer: Any, user: Any = None) -> Any:
        """Resume with this answer to every open question."""
        approvals = {call.tool_call_id: answer for call in self.result.output.approvals}
        return await self.run(
            user,
            message_history=self.result.all_messages(),
            deferred_tool_results=DeferredToolResults(approvals=approvals),
        )

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
    assert "echo" in registry
    assert "other" not in registry
    assert (registry.name, ToolRegistry("more").name, len(ToolRegistry())) == ("tools", "more", 0)
    assert confirmation_metadata(registry.get("slow_echo").spec)["x-summary"] == "Slow echo"


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
    assert isinstance(binding, ToolBinding)
    assert binding.spec is spec
    assert binding.input_schema["properties"] == {"text": {"description": "What to say.", "type": "string"}}
    assert binding.input_schema["x-category"] == "nav"
    with pytest.raises(FrozenInstanceError):
        binding.spec.name = "other"
    with pytest.raises(FrozenInstanceError):
        binding.spec = None
    assert registry.get("echo") is binding
    with pytest.raises(KeyError, match="There is no tool 'nope' in 'tools'"):
        registry.get("nope")


def test_a_decorator_without_its_registry_is_refused():
    with pytest.raises(TypeError, match=r"write @tool\(registry\)"):

        @tool
        def lost() -> str:
            """Never be called."""
            return "lost"


@pytest.mark.parametrize("name", ["", "with space", "ümlaut", "a.b", "x" * 65])
def test_a_name_that_providers_refuse_is_refused(registry, name):
    with pytest.raises(ValueError, match="1 to 64 letters, digits, _ or -"):
        registry.register(ToolSpec(name=name, fn=echo, description="Repeat."))
    registry.add(echo, name="a-Z_9" + "x" * 59)


def mute(text: str) -> str:
    return text


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (echo, {"category": "reads"}, "category='reads': use one of shell, "),
        (echo, {"retries": 0}, "retries=0.*Use 1 or more"),
        (echo, {"timeout": 0}, "timeout=0.*seconds above 0"),
        (echo, {"permission": "add_task"}, "permission='add_task'.*'app_label.codename'"),
        (slow_echo, {}, "'slow_echo' is registered twice in 'tools': rename one, or pass name="),
        (mute, {}, "'mute' has no docstring: the model reads it to choose the tool. Write one"),
    ],
)
def test_what_can_not_work_is_refused(registry, function, options, message):
    registry.add(slow_echo)
    with pytest.raises(ValueError, match=message):
        registry.add(function, **options)
    assert len(registry) == 1


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

    class Context:
        deps = AgentDeps(user="ada", thread_id="t", run_id="r")

    assert registry.call("whoami", {}, ctx=Context()) == "ada"
    with pytest.raises(TypeError, match="'whoami' takes a RunContext: pass it as ctx="):
        registry.call("whoami", {})


# --- What a run does with them


def test_options_are_those_of_pydantic_ai(registry):
    registry.add(slow_echo, sequential=True, strict=True, timeout=2.5, retries=4, defer_loading=True)
    registry.add(echo)
    toolset = build_toolset(registry, "mine")
    assert isinstance(toolset, FunctionToolset)
    assert toolset.id == "mine"
    given, default = toolset.tools["slow_echo"], toolset.tools["echo"]
    names = ("sequential", "strict", "timeout", "max_retries", "defer_loading", "requires_approval")
    assert [getattr(given, name) for name in names] == [True, True, 2.5, 4, True, False]
    assert [getattr(default, name) for name in names] == [False, None, None, None, False, False]
    assert default.prepare is None


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
    async def delegate() -> str:
        """Ask another agent."""
        raise UsageLimitExceeded("too much")

    with pytest.raises(UsageLimitExceeded):
        await Agency(registry, call("delegate")).run()


class Opaque:
    pass


FINE = [None, "text", 1, 1.5, [{"day": date(2026, 2, 3)}], BinaryContent(b"\xff\x00", media_type="image/png")]
OPAQUE = [Opaque(), {"deep": [Opaque()]}, get_user_model().objects.none(), (n for n in [1]), ToolReturn(Opaque())]


@pytest.mark.parametrize(
    ("result", "is_fine"),
    [*((result, True) for result in FINE), *((result, False) for result in OPAQUE)],
    ids=lambda value: type(value).__name__,
)
async def test_a_result_without_json_form_fails_its_call(registry, caplog, result, is_fine):
    async def later() -> Any:
        return result

    @tool(registry)
    def look() -> Any:
        """Look, and return an awaitable."""
        return later()

    agency = Agency(registry, call("look"), say("Well"))
    assert await agency.run() == "Well"
    assert agency.results == [("success", result) if is_fine else ("failed", FAILED)]
    assert [record.exc_text for record in caplog.records if "has no JSON form" not in record.exc_text] == []
    assert (caplog.records == []) is is_fine


# --- Threads


async def test_an_asynchronous_tool_that_times_out_is_cancelled(registry, clock):
    ends = []

    @tool(registry, timeout=60)
    async def wait(long: bool) -> str:
        """Wait."""
        if long:
            clock.advance(60)
        try:
            await asyncio.sleep(60 if long else 0)
        except asyncio.CancelledError:
            ends.append("cancelled")
            raise
        return "waited"

    agency = Agency(registry, call("wait", long=True), call("wait", long=False), say("Done"))
    await agency.run()
    assert ends == ["cancelled"]
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


async def test_work_that_waits_for_a_thread_can_be_cancelled(settings):
    settings.AGUI = {"TOOL_THREADS": 1}
    release, done = threading.Event(), []
    first = asyncio.create_task(run_in_thread(release.wait, 60))
    second = asyncio.create_task(run_in_thread(done.append, "second"))
    await asyncio.sleep(0)  # Both are handed over
    second.cancel()
    with suppress(asyncio.CancelledError):
        await second
    release.set()
    await first
    await run_in_thread(done.append, "third")
    assert done == ["third"]
    with pytest.raises(RuntimeError, match="StopIteration"):  # It does not hang
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
    while not used.has_ended:  # noqa: ASYNC110
        await asyncio.sleep(0)
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
    user = get_user_model().objects.create_user("grace")
    user.user_permissions.add(Permission.objects.get(codename="view_user"))
    return user


@pytest.fixture
def guarded(registry) -> ToolRegistry:
    @tool(registry, permission="users.view_user")
    def count_users() -> int:
        """Count the users."""
        return get_user_model().objects.count()

    return registry


@pytest.mark.django_db(transaction=True)
async def test_permission_shows_the_tool(guarded, staff):
    agency = Agency(guarded, call("count_users"), say("One"))
    await agency.run(staff)
    assert list(agency.model.requests[0].tools) == ["count_users"]
    assert agency.results == [("success", 1)]

    agency = Agency(guarded, call("count_users"), say("Hi"))
    await agency.run(await get_user_model().objects.acreate(username="eve"))
    assert list(agency.model.requests[0].tools) == []
    assert agency.results[0][0] == "retried"


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
    def revoke() -> str:
        """Take the permission away in the middle of the run."""
        user = get_user_model().objects.get(pk=staff.pk)
        if is_revoked:
            user.user_permissions.clear()
        else:
            get_user_model().objects.filter(pk=user.pk).update(is_active=False)
        return "revoked"

    agency = Agency(guarded, call("revoke"), call("count_users"), say("Sorry"))
    assert await agency.run(staff) == "Sorry"
    assert agency.results == [("success", "revoked"), ("denied", DENIED)]


# --- Approval


@pytest.fixture
def wiped() -> list[str]:
    return []


@pytest.fixture
def destructive(registry, wiped) -> ToolRegistry:
    @tool(registry, destructive=True, confirm="Wipe the disk?", summary="Wipe a disk", category=ToolCategory.SHELL)
    def wipe(disk: str) -> str:
        """Wipe a disk."""
        wiped.append(disk)
        return "wiped"

    return registry


@pytest.mark.parametrize(
    ("answer", "done", "outcome"),
    [
        (True, ["sda"], "success"),
        (False, [], "denied"),
        (ToolApproved(override_args={"disk": "sdb"}), ["sdb"], "success"),
        (ToolApproved(override_args={"disk": ["sdb"]}), [], "retried"),
    ],
    ids=["approved", "denied", "edited", "edited wrongly"],
)
async def test_a_destructive_tool_waits_for_approval(destructive, wiped, answer, done, outcome):
    # Wrong arguments are corrected before anybody is asked.
    agency = Agency(destructive, call("wipe"), call("wipe", disk="sda"), say("Done"))
    waiting = await agency.run()
    [asked] = waiting.approvals
    metadata = dict(waiting.metadata[asked.tool_call_id])
    # The schema of the arguments is for the form of the answer: it reaches clients in `responseSchema`.
    assert metadata.pop(PARAMETERS_KEY)["type"] == "object"
    assert metadata == {
        "toolName": "wipe",
        "x-destructive": True,
        "x-category": "shell",
        "x-confirm": "Wipe the disk?",
        "x-summary": "Wipe a disk",
    }
    assert (asked.tool_name, asked.args_as_dict()) == ("wipe", {"disk": "sda"})
    assert agency.model.requests[0].tools["wipe"].kind == "unapproved"
    assert wiped == []
    assert await agency.answer(answer) == "Done"
    assert wiped == done
    assert [ended for ended, _ in agency.results] == ["retried", outcome]


async def test_requires_approval_behaves_likewise(registry):
    registry.add(echo, requires_approval=True)
    agency = Agency(registry, call("echo", text="hi"), say("Done"))
    [metadata] = (await agency.run()).metadata.values()
    assert {name: value for name, value in metadata.items() if name != PARAMETERS_KEY} == {
        "toolName": "echo",
        "x-destructive": False,
        "x-category": "other",
        "x-summary": "Echo",
    }
    await agency.answer(True)
    assert agency.results == [("success", "hi")]


def test_what_needs_confirmation(settings):
    def spec(**options: Any) -> ToolSpec:
        return ToolSpec("echo", echo, "Repeat.", **options)

    assert not needs_confirmation(spec())
    assert needs_confirmation(spec(requires_approval=True))
    for auto_confirm, needs in ([], True), (["ech", "echo_all"], True), (["echo"], False), (True, False):
        settings.AGUI = {"AUTO_CONFIRM": auto_confirm}
        assert needs_confirmation(spec(destructive=True)) is needs
    settings.AGUI = {"AUTO_CONFIRM": "echo"}
    with pytest.raises(ImproperlyConfigured, match="AUTO_CONFIRM"):
        needs_confirmation(spec(destructive=True))


async def test_approval_does_not_outlive_the_permission(registry, staff, wiped):
    @tool(registry, destructive=True, permission="users.view_user")
    def wipe(disk: str) -> str:
        """Wipe a disk."""
        wiped.append(disk)
        return "wiped"

    agency = Agency(registry, call("wipe", disk="sda"), say("Sorry"))
    await agency.run(staff)
    await staff.user_permissions.aclear()
    assert await agency.answer(True, await get_user_model().objects.aget(pk=staff.pk)) == "Sorry"
    assert wiped == []
