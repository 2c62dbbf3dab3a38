"""An endpoint, two users, and a client that speaks AG-UI, in the template's project or in a generated one.

TEST_REDIS_URL names a Redis that the runs of all tests then use.
"""

import asyncio
import contextvars
import gc
import importlib
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import cache
from inspect import isawaitable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from uuid import uuid4

import pytest
from _pytest.runner import runtestprotocol
from django.apps import apps
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, connections, router
from django.test import AsyncClient, TransactionTestCase
from django.test import Client as Browser
from pydantic_ai import models
from pydantic_ai.messages import ToolReturnPart, UserPromptPart
from pydantic_ai.models import Model, override_allow_model_requests

import agui.clock
from agui import AgentConfig, DjangoAGUIView, ToolRegistry, get_urls
from agui.blocking.executor import in_database
from agui.http.tokens import create_token
from agui.models import Run, get_conversation_model
from agui.runs import life as heartbeats
from agui.runs.live import LiveRuns, live
from agui.testing import Request, ScriptedModel, call, close_connections, collect, say, wait
from tests import admin_urls, urls
from tests.clock import Clock, the_clock
from tests.mounting import serve_urls
from tests.provider_stub import ProviderStub
from tests.recipe_pages import read_recipes
from tests.recipes import Recipe

models.ALLOW_MODEL_REQUESTS = False

# The engine's modules ask this clock for the time.
agui.clock.time = agui.clock.timezone = the_clock  # type: ignore[assignment]

HERE = Path(__file__).parent
# Rows that migrations make, and that no test changes.
KEPT = {"django_content_type", "auth_permission", "django_migrations"}


def empty_tables(case: TransactionTestCase) -> None:
    """Delete what a test has stored. Django's own way truncates all tables and makes all permissions anew."""
    with connection.cursor() as cursor:
        # One call for all tables: each call of Django's cursor costs time, and the suite has thousands of tests.
        run = cursor.executescript if connection.vendor == "sqlite" else cursor.execute
        run(statements_to_empty())


@cache
def statements_to_empty() -> str:
    tables = sorted(set(connection.introspection.django_table_names(only_existing=True)) - KEPT)
    names = map(connection.ops.quote_name, tables)
    return "".join(["BEGIN;", *(f"DELETE FROM {name};" for name in names), "COMMIT;"])  # noqa: S608


TransactionTestCase._fixture_teardown = empty_tables


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--first-values", action="store_true", help="run each test with the first of its values only")


def pytest_collection_finish() -> None:
    """Modules and tests stay till the end: looking for garbage among them took a tenth of the suite's time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What a second database does differently does not depend on a test's values."""
    if config.getoption("first_values"):
        first: dict[str, pytest.Item] = {}
        for item in items:
            first.setdefault(item.nodeid.partition("[")[0], item)
        items[:] = first.values()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run each of these tests in a copy of the context.

    Tests make Django's URL resolvers anew, which leave context variables behind. asgiref goes through all of them each
    time it changes the thread, which took two fifths of the suite's time.
    """
    if not item.path.is_relative_to(HERE):
        return None
    where = {"nodeid": item.nodeid, "location": item.location}
    item.ihook.pytest_runtest_logstart(**where)
    with outside_of_loops():
        contextvars.copy_context().run(runtestprotocol, item, nextitem=nextitem)
    item.ihook.pytest_runtest_logfinish(**where)
    return True


@contextmanager
def outside_of_loops() -> Iterator[None]:
    """Hide the event loop of Playwright, which browser tests of the same process have left standing still."""
    loop = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(loop)


# What tests use of a part without importing it from there.
USED = {
    "session_store": "DjangoSessionConversationStore",
    "drf_mcp": "DrfMcpToolset|DRF_MCP",
    "durable": "dbos|agui_durable_",
    "terminal": 'call_command\\("chat"',
    "voice": "/transcribe/",
    "suggestions": "follow_ups",
}


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out the tests that need a part which the project does not have."""
    if not collection_path.name.startswith("test_"):
        return None
    return None if all(apps.is_installed(f"agui.contrib.{part}") for part in named_parts(collection_path)) else True


def named_parts(test: Path) -> set[str]:
    """The parts that a file of tests names, or one that it imports from, or a recipe that it pastes."""
    text = test.read_text()
    text += "".join(recipe for name, recipe in read_recipes().items() if f'"{name}"' in text)
    named = set(re.findall(r"\bagui\.contrib(?:\.| import )(\w+)", text))
    named |= {part for part, words in USED.items() if re.search(words, text)}
    for other in re.findall(r"^from tests\.(?!conftest)(\w+) import", text, re.MULTILINE):
        named |= named_parts(test.with_name(f"{other}.py"))
    return named


@pytest.fixture
def example() -> Any:
    """The models of a new project's example, which its owner may have taken out."""
    models = pytest.importorskip("assistant.models")
    if not hasattr(models, "Task"):
        pytest.skip("the example is gone")
    return models


def all_models() -> list[Any]:
    """The engine's tables, and those of its parts."""
    engine = [config for config in apps.get_app_configs() if config.name.startswith("agui")]
    return [get_conversation_model(), *(model for config in engine for model in config.get_models())]


def models_of_users() -> list[Any]:
    """Those with rows of users. Others have counts, what remote servers have said, and digests of a day."""
    of_nobody = {"RunSpan", "RemoteClient", "RemoteTool", "TokenFamily"}
    return [each for each in all_models() if each.__name__ not in of_nobody]


# The ids of the interrupts that were seen, by tool call.
asked: dict[str, str] = {}


def decision(call_id: str, approved: bool = True, **payload: Any) -> dict[str, Any]:
    """An answer to an approval that a client has seen, or to one that never was."""
    return {
        "interruptId": asked.get(call_id, f"int-{call_id}"),
        "status": "resolved",
        "payload": {"approved": approved, **payload},
    }


class Client:
    """One user's AG-UI client: it sends its new message only, the server holds the history."""

    def __init__(self, user: Any, prefix: str = "/agent/", http: AsyncClient | None = None) -> None:
        self.user = user
        self.prefix = prefix
        self.http = http or AsyncClient()
        if user is not None:
            # Under the name that ASGI scopes have: AsyncClient translates no others.
            self.http.defaults["authorization"] = f"Bearer {create_token(user)[1]}"  # type: ignore[typeddict-unknown-key]

    async def post(self, body: Any, **headers: str) -> Any:
        data = body if isinstance(body, str | bytes) else json.dumps(body)
        return await self.http.post(self.prefix, data, content_type="application/json", headers=headers)

    async def run(self, text: str = "", *, thread: str = "t1", **body: Any) -> list[dict[str, Any]]:
        """Send a message, read the answer's events."""
        response = await self.post(run_input(text, thread=thread, **body))
        assert response.status_code == 200, getattr(response, "content", b"")
        events = await collect(response)
        asked.update({one["toolCallId"]: one["id"] for one in events[-1].get("outcome", {}).get("interrupts", [])})
        return events

    async def get(self, path: str, **headers: str) -> Any:
        return await self.http.get(self.prefix + path, headers=headers)

    async def upload(
        self, content: bytes = b"Hello", name: str = "a.txt", content_type: str = "text/plain", **headers: str
    ) -> Any:
        """Send a file; the response."""
        file = SimpleUploadedFile(name, content, content_type)
        return await self.http.post(f"{self.prefix}attachments/", {"file": file}, headers=headers)

    async def uploaded(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """What is answered to a file that is accepted."""
        response = await self.upload(*args, **kwargs)
        assert response.status_code == 201, response.content
        return json.loads(response.content)

    async def thread(self, thread: str = "t1") -> dict[str, Any]:
        response = await self.get(f"threads/{thread}/")
        assert response.status_code == 200
        return json.loads(response.content)

    async def lines(self, thread: str = "t1") -> list[str]:
        """The thread's texts: the user's words, and the agent's with a sign before them."""
        messages = [message for message in (await self.thread(thread))["messages"] if message.get("content")]
        signs = [f"{message['role']}: " if message["role"] != "user" else "" for message in messages]
        return [sign + message["content"] for sign, message in zip(signs, messages, strict=True)]


def texts_of(thread: dict[str, Any]) -> list[Any]:
    """The texts of a stored thread's messages; None of one that has calls alone."""
    return [message.get("content") for message in thread["messages"]]


async def body_of(response: Any) -> bytes:
    """All of a body that is streamed."""
    return b"".join([chunk async for chunk in response])


def files_in(folder: Path) -> list[Path]:
    """The files in a folder and in those below it."""
    return [path for path in folder.rglob("*") if path.is_file()]


def prompts_of(request: Request) -> list[Any]:
    """What the model was sent in prompts."""
    return [part.content for part in parts_of(request) if isinstance(part, UserPromptPart)]


def parts_of(request: Request) -> list[Any]:
    """Everything that the model was sent."""
    return [part for message in request.messages for part in message.parts]


def results_of(request: Request) -> dict[str, Any]:
    """The results that the model was sent, by the tool call's id."""
    return {part.tool_call_id: part for part in parts_of(request) if isinstance(part, ToolReturnPart)}


async def read_attachment(client: Client, file: dict[str, Any], **arguments: Any) -> Any:
    """What the model gets when it reads a file that a message names."""
    with script(call("read_attachment", _id="c1", attachment_id=file["id"], **arguments), say("ok")) as model:
        message = {"id": str(uuid4()), "role": "user", "content": "Look", "metadata": {"attachments": [file]}}
        await client.run(messages=[message], thread=str(uuid4()))
    return results_of(model.requests[1])["c1"]


def run_input(text: str = "", *, thread: str = "t1", **body: Any) -> dict[str, Any]:
    """A RunAgentInput with one new message, or with none."""
    messages = [{"id": str(uuid4()), "role": "user", "content": text}] if text else []
    return {"threadId": thread, "runId": str(uuid4()), "protocolVersion": "1.0", "messages": messages, **body}


def query_of(address: str) -> dict[str, str]:
    """The query of an address to which a browser is sent."""
    return dict(parse_qsl(urlsplit(address).query, keep_blank_values=True))


@contextmanager
def script(*answers: Any) -> Iterator[ScriptedModel]:
    """Let a script answer instead of a model."""
    model = ScriptedModel(answers)
    with played_by(model):
        yield model


@contextmanager
def played_by(model: Model) -> Iterator[None]:
    with ExitStack() as stack:
        for view in urls.views:
            stack.enter_context(view.agent.override(model=model))
        yield


class TooMuchWork(Exception):
    """More calls than the test allows."""


@contextmanager
def counted(limit: int = 2_000_000) -> Iterator[list[int]]:
    """Count the calls of functions on this thread, and end what would go on for ever."""
    calls = [0]

    def count(frame: Any, event: str, argument: Any) -> None:
        if event in ("call", "c_call"):
            calls[0] += 1
            if calls[0] > limit:
                sys.setprofile(None)
                raise TooMuchWork

    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(None)


async def until(condition: Callable[[], Any]) -> None:
    """Wait for what nothing tells, at most a minute. What is to be true may be awaited, too."""
    async with asyncio.timeout(60):
        while not (await found if isawaitable(found := condition()) else found):  # noqa: ASYNC110
            await asyncio.sleep(0.005)


@asynccontextmanager
async def half_said(client: Client, *later: Any, **body: Any) -> AsyncIterator[tuple[Any, asyncio.Event]]:
    """A run in the middle of its answer: its response, and what lets it go on."""
    reached, go_on = asyncio.Event(), asyncio.Event()
    with script([say("Half, "), wait(go_on, reached), say("whole.")], *later):
        response = await client.post(run_input("Hi", **body))
        await reached.wait()
        yield response, go_on


@pytest.fixture
def registry() -> ToolRegistry:
    return ToolRegistry()


@pytest.fixture
def mount(settings: Any) -> Callable[..., ScriptedModel]:
    """Serve an agent with these tools, under /agent/, and let a script answer."""

    def serve(registry: ToolRegistry, *answers: Any, **config: Any) -> ScriptedModel:
        model = ScriptedModel(answers)
        view = DjangoAGUIView(registry, AgentConfig(model=model, **config))
        serve_urls(settings, get_urls(view))
        return model

    return serve


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderStub]:
    """The providers, one local server."""
    with ProviderStub() as stub, override_allow_model_requests(True):
        monkeypatch.setenv("OPENAI_BASE_URL", f"{stub.url}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", stub.url)
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", stub.url)
        for provider in ("OPENAI", "ANTHROPIC", "GOOGLE"):
            monkeypatch.setenv(f"{provider}_API_KEY", "not-a-real-key")
        for variable in (
            *("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"),
            *("GEMINI_API_KEY", "GOOGLE_API_BASE"),
        ):
            monkeypatch.delenv(variable, raising=False)
        yield stub


@pytest.fixture
def clock() -> Iterator[Clock]:
    """Let the time of the engine stand still, until the test turns it: `clock.advance(60)`."""
    the_clock.stop()
    yield the_clock
    the_clock.resume()


@pytest.fixture
def watch(clock: Clock) -> Callable[..., Awaitable[None]]:
    """Let so many seconds pass for this process, which looks at the heartbeats of all runs every three."""

    async def look(seconds: float, step: float = heartbeats.BEAT_SECONDS) -> None:
        for _ in range(round(seconds / step)):
            clock.advance(step)
            await in_database(lambda: heartbeats.life.check_heartbeats(connections[router.db_for_write(Run)]))

    return look


@pytest.fixture
def intercept(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let something happen before each call of a function, which gets its arguments, or after it, with the result."""

    def put(owner: Any, name: str, before: Any = None, after: Any = None) -> None:
        function = getattr(owner, name)

        def call(*args: Any, **options: Any) -> Any:
            if before:
                before(*args)
            result = function(*args, **options)
            if after:
                after(result)
            return result

        monkeypatch.setattr(owner, name, call)

    return put


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Keep the test database of SQLite out of the project: each process has a directory of its own."""
    if connection.vendor == "sqlite":
        connection.settings_dict["TEST"]["NAME"] = tmp_path_factory.getbasetemp() / "test.sqlite3"


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """Leave SQLite's file to the directory that goes: browsers of the same process may hinder its deletion."""
    return connection.vendor == "sqlite"


@pytest.fixture(autouse=True, scope="package")
def no_certificates() -> Iterator[None]:
    """No test speaks TLS. Each client of a provider reads the machine's certificates, in 20 ms, unless told where."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SSL_CERT_FILE", raising=False)
        patch.setenv("SSL_CERT_DIR", os.devnull)
        yield


@pytest.fixture(autouse=True)
def no_connection_outlives_its_test() -> Iterator[None]:
    """PostgreSQL can't drop the test database while a thread is connected to it."""
    yield
    close_connections()


@pytest.fixture(autouse=True)
def endpoint(settings: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    settings.MEDIA_ROOT = tmp_path_factory.getbasetemp() / "media"
    # A test that overrides settings inside another override leaves the outer one behind.
    if settings.ROOT_URLCONF != "tests.urls":
        settings.ROOT_URLCONF = "tests.urls"
    urls.effects.clear()
    urls.hanging.clear()
    urls.let_go.clear()
    asked.clear()


@pytest.fixture
def media(endpoint: None, settings: Any, tmp_path: Path) -> Path:
    """A folder of the test's own for what is uploaded."""
    settings.MEDIA_ROOT = tmp_path / "media"
    return Path(settings.MEDIA_ROOT)


@pytest.fixture(autouse=True)
def shared_logs() -> Iterator[None]:
    # Not with the test's own monkeypatch: one that undoes what it did would leave connections to Redis behind.
    with pytest.MonkeyPatch.context() as patch:
        if "TEST_REDIS_URL" in os.environ:
            patch.setattr(live, "logs", LiveRuns().logs)
        yield


@pytest.fixture(autouse=True)
async def no_run_outlives_its_test(shared_logs: None) -> AsyncIterator[None]:
    yield
    for log in list(live.logs._active.values()):
        log.stop()
    if live.tasks:
        await asyncio.wait(live.tasks, timeout=60)
    # The hourly count starts beside a run that lasts five seconds, and could end in the middle of the next test.
    if apps.is_installed("agui.contrib.dashboard"):
        counting = apps.get_app_config("agui_dashboard").counting
        if counting and not counting.done():
            await asyncio.wait([counting])
    live.followers.clear()
    await live.logs.aclose()


@pytest.fixture
def user(transactional_db: None) -> Any:
    return get_user_model().objects.create_user("ada", password="lovelace-1815")


@pytest.fixture
def other(transactional_db: None) -> Any:
    return get_user_model().objects.create_user("bob", password="builder-1999")


def create_user(name: str, *permissions: str, **fields: Any) -> Any:
    """Create a user who has these permissions, by their codenames."""
    user = get_user_model().objects.create_user(name, **fields)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return user


@pytest.fixture
def chief(transactional_db: None, endpoint: None, settings: Any) -> Browser:
    """The browser of a superuser, and an admin."""
    settings.ROOT_URLCONF = admin_urls.__name__
    browser = Browser()
    browser.force_login(get_user_model().objects.create_superuser("root"))
    return browser


@pytest.fixture
def client(user: Any) -> Client:
    return Client(user)


@pytest.fixture
async def project(client: Client, settings: Any, tmp_path: Path) -> AsyncIterator[Any]:
    """A project that is connected with MCP servers of others, if it has the part `mcp`."""
    connecting = importlib.import_module("tests.connecting")
    yield connecting.Project(client, settings, tmp_path / "mcp.json")
    await connecting.connections.close_all()


@pytest.fixture
def host(user: Any, settings: Any) -> Any:
    """A host that the user may connect to the MCP endpoint, if the project has the part `oauth`."""
    hosting = importlib.import_module("tests.hosting")
    hosting.open_doors(settings)
    hosting.known_client()
    return hosting.Host(user)


@pytest.fixture
def queue(client: Client) -> Any:
    """What the client does beside its runs, if the project has the part `queue`."""
    queueing = importlib.import_module("tests.queueing")
    return queueing.Queue(client)


@pytest.fixture
def talk(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Play `manage.py chat`, if the project has the part `terminal`."""
    chatting = importlib.import_module("tests.chatting")

    def play(*answers: Any, lines: Sequence[Any] = (), arguments: Sequence[Any] = (), code: int = 0) -> Any:
        monkeypatch.setattr(sys, "stdin", chatting.Lines(lines))
        with script(*answers) as model:
            assert chatting.chat(*map(str, arguments)) == code
        printed = capsys.readouterr()
        return SimpleNamespace(out=printed.out, err=printed.err, requests=model.requests)

    return play


@pytest.fixture
def in_front() -> Iterator[None]:
    """In the background of a script's shell, Ctrl-C is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def other_client(other: Any) -> Client:
    return Client(other)


@pytest.fixture
def paste(transactional_db: None, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Recipe]]:
    """Put the code of a recipe into a project, and see that the test calls each of its functions."""
    recipes: list[Recipe] = []

    def put(name: str) -> Recipe:
        recipes.append(Recipe(name, settings, monkeypatch))
        return recipes[-1]

    yield put
    assert [sorted(recipe.functions - recipe.called) for recipe in recipes] == [[] for _ in recipes]
