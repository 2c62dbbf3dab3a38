"""Start a generated project's server, and speak to it as a client would: real sockets, read as bytes arrive."""

import hashlib
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar
from urllib.parse import urlencode

from cache import cached

Result = TypeVar("Result")

# These only end a hang: no machine that is busy takes so long.
HANG_SECONDS, START_SECONDS = 180, 300
# Each process of the suite has ports of its own, so that none takes one whose server was killed and will be back.
PORTS = range(20_000 + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 16, 32_000, 16)
handed_out: set[int] = set()
DATABASE, FIRST_ADMIN = "db.sqlite3", ".first_admin"
PRODUCTION = {
    "DEBUG": "0",
    "SECRET_KEY": "only-for-a-test-on-the-loopback-interface-" + "0123456789",
    "ALLOWED_HOSTS": "127.0.0.1",
    "SECURE_SSL_REDIRECT": "0",
}


@dataclass
class LiveProject:
    """A running server and the first administrator's credentials."""

    path: Path
    port: int
    username: str
    password: str
    token: str
    settings: dict[str, str]
    prefix: Sequence[str] = ()
    """What begins its command: a program that runs others."""
    process: subprocess.Popen[bytes] = field(init=False, repr=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return self.path / "server.log"

    @property
    def command(self) -> list[str]:
        """What serves it, as arguments of Python."""
        return ["manage.py", "runserver", f"127.0.0.1:{self.port}", "--noreload"]

    def start(self) -> None:
        with self.log.open("ab") as stream:
            self.process = self.begin(*self.command, stdout=stream, stderr=stream)
        wait_until_healthy(self.port, self.process, self.log)

    def begin(self, *arguments: str | Path, **streams: Any) -> subprocess.Popen[bytes]:
        """Start another Python program of the project."""
        command = [*self.prefix, self.path / ".venv/bin/python", *arguments]
        options = {"cwd": self.path, "env": project_environment(**self.settings), "stdin": subprocess.DEVNULL}
        return subprocess.Popen(command, **options, **streams)

    def start_worker(self, **environment: str) -> "Worker":
        settings = self.settings | environment
        worker = Worker(self.path, 0, self.username, self.password, self.token, settings, self.prefix)
        worker.start()
        return worker

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End the server as a crash would: it can't do anything about it."""
        end(self.process)

    def manage(self, *arguments: str) -> str:
        """Run manage.py; its standard output."""
        return manage(self.path, *arguments, prefix=self.prefix, **self.settings)

    def client(self, token: str | None = None) -> "Client":
        return Client(self.port, token)

    def token_of(self, username: str) -> str:
        """A token of another user, who is made if there is none of this name."""
        code = f"from users.models import User; User.objects.get_or_create(username={username!r})"
        self.manage("shell", "-v", "0", "-c", code)
        return self.manage("create_token", username).splitlines()[-1]


class Daphne(LiveProject):
    """As in production."""

    @property
    def command(self) -> list[str]:
        return ["-m", "daphne", "-b", "127.0.0.1", "-p", str(self.port), "-v", "0", "config.asgi:application"]


class Worker(LiveProject):
    """A process that executes runs."""

    def start(self) -> None:
        with (self.path / "worker.log").open("ab") as log:
            self.process = self.begin("manage.py", "agent_worker", stdout=log, stderr=log)


class Client:
    """One visitor: cookies are kept, redirects are not followed."""

    def __init__(self, port: int, token: str | None = None) -> None:
        self.port, self.token = port, token
        self.cookies: dict[str, str] = {}

    def open(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None):
        """Send a request; the response has not been read yet."""
        sent = {"Accept": "text/event-stream, application/json, text/html", "Connection": "close"}
        if isinstance(body, dict):
            body, sent["Content-Type"] = json.dumps(body), "application/json"
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, sent | (headers or {}))
            response = connection.getresponse()
        except (OSError, http.client.HTTPException):
            connection.close()
            raise
        for header in response.headers.get_all("Set-Cookie", []):
            self.cookies |= {name: morsel.value for name, morsel in SimpleCookie(header).items()}
        return response

    def fetch(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None):
        """Send a request and read all of it: (status, text)."""
        with self.open(method, path, body, headers) as response:
            return response.status, response.read().decode()

    def read(self, path: str) -> Any:
        """What a route answers, whose JSON there has to be."""
        status, text = self.fetch("GET", path)
        assert status == 200, (path, status, text)
        return json.loads(text)

    def thread(self, thread_id: str) -> dict[str, Any]:
        """What the agent keeps of a thread."""
        return self.read(f"/agent/threads/{thread_id}/")

    def login(self, username: str, password: str, path: str = "/accounts/login/") -> None:
        self.fetch("GET", path)
        form = {"username": username, "password": password, "csrfmiddlewaretoken": self.cookies["csrftoken"]}
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        status, text = self.fetch("POST", path, urlencode(form), headers)
        assert status == 302, text

    def run(self, text: str, *, headers: dict[str, str] | None = None, **changes: Any) -> list[dict]:
        """Ask the agent; all events of the answer."""
        with self.open("POST", "/agent/", run_input(text, **changes), headers) as response:
            assert response.status == 200, response.read()
            return list(events(response))


def run_input(text: str, **changes: Any) -> dict[str, Any]:
    """A RunAgentInput with one new user message."""
    return {
        "threadId": str(uuid.uuid4()),
        "runId": str(uuid.uuid4()),
        "messages": [{"id": str(uuid.uuid4()), "role": "user", "content": text}],
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
    } | changes


def events(response: http.client.HTTPResponse) -> Iterator[dict]:
    """Yield each event of a stream as soon as its frame has arrived."""
    while line := response.readline():
        if line.startswith(b"data:"):
            yield json.loads(line.removeprefix(b"data:"))


def end(process: subprocess.Popen[Any], by: signal.Signals = signal.SIGKILL) -> None:
    process.send_signal(by)
    process.wait(timeout=HANG_SECONDS)


def contents(thread: dict[str, Any], role: str = "") -> list[str]:
    """What is said in a thread, by all or by one role."""
    return [one["content"] for one in thread["messages"] if one.get("content") and role in ("", one["role"])]


def text_of(stream: list[dict]) -> str:
    return "".join(event["delta"] for event in stream if event["type"] == "TEXT_MESSAGE_CONTENT")


def project_environment(**changes: str) -> dict[str, str]:
    """This process's environment without what would change a project's settings or slow it down."""
    unwanted = re.compile(r"_API_KEY$|^DJANGO|^DATABASE|^REDIS|^PYTHON(DONT|PYCACHE)|^PYTEST_|^MAKE|^MFLAGS")
    return {name: value for name, value in os.environ.items() if not unwanted.search(name)} | changes


def manage(project: Path, *arguments: str, prefix: Sequence[str] = (), **settings: str) -> str:
    done = subprocess.run(
        [*prefix, project / ".venv/bin/python", "manage.py", *arguments],
        cwd=project,
        env=project_environment(**settings),
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def credential(output: str, label: str) -> str:
    found = re.search(rf"{label}:\s+(\S+)", output)
    assert found, output
    return found[1]


def free_port() -> int:
    """A port that nobody listens on: below those of outgoing connections, so it stays free while a server is away."""
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as listener, suppress(OSError):
            listener.bind(("127.0.0.1", port))
            if port not in handed_out:
                handed_out.add(port)
                return port
    raise AssertionError("All ports are taken.")


def wait_until(
    condition: Callable[[], Result],
    *,
    seconds: float = HANG_SECONDS,
    failure_message: Callable[[], object] = lambda: "It did not happen.",
) -> Result:
    """Ask until there is a true answer, and return it: for an event that no call can wait for.

    The pause between two questions spares the processor, and the deadline ends a hang: no test's outcome may depend on
    how long either is.
    """
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < deadline, failure_message()
        time.sleep(0.02)
    return answer


def is_listening(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=60).close()
    except ConnectionRefusedError:
        return False
    return True


def wait_until_healthy(port: int, process: subprocess.Popen[bytes], log: Path, seconds: float = START_SECONDS) -> None:
    def is_healthy() -> bool:
        assert process.poll() is None, f"The server ended:\n{log.read_text()}"
        with suppress(OSError):
            return Client(port).fetch("GET", "/healthz")[0] == 200
        return False

    wait_until(is_healthy, seconds=seconds, failure_message=lambda: f"The server did not start:\n{log.read_text()}")


def migrate(project: Path, prefix: Sequence[str] = (), **settings: str) -> None:
    manage(project, "migrate", "--verbosity", "0", prefix=prefix, **settings)
    output = manage(project, "create_first_admin", prefix=prefix, **settings)
    if output:
        (project / FIRST_ADMIN).write_text(output)


def names_database(project: Path, settings: dict[str, str]) -> bool:
    """Whether a project has another database than the file that it makes."""
    env = project / ".env"
    names = env.read_text() if env.exists() else ""
    return "DATABASE_URL" in settings or re.search("^DATABASE_URL=", names, re.MULTILINE) is not None


def copy_migrated(project: Path) -> None:
    """Give a new project the database that one with the same code has made: most differ in no line."""

    def make(directory: Path) -> None:
        migrate(project)
        directory.mkdir()
        for name in (DATABASE, FIRST_ADMIN):
            (project / name).replace(directory / name)

    kept = cached("database", code_of(project), make)
    for name in (DATABASE, FIRST_ADMIN):
        shutil.copy(kept / name, project)


def code_of(project: Path) -> str:
    """What a project's tables depend on: its files, its packages and its settings."""
    digest = hashlib.sha256(str((project / ".venv").resolve()).encode())
    for folder, folders, names in os.walk(project):
        folders[:] = sorted(set(folders) - {"__pycache__", "static", "manual"})
        for name in sorted(names):
            if name.endswith((".py", ".whl", ".env")):
                content = (Path(folder) / name).read_bytes()
                digest.update(f"{folder.removeprefix(str(project))}/{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


@contextmanager
def running(command: Sequence[str | Path], port: int, log: Path, cwd: Path, **environment: str) -> Iterator[str]:
    """Run a server of others until the block ends; yields its URL when it listens."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=cwd, env=project_environment(**environment), stdout=output, stderr=output
        )

    def is_up() -> bool:
        assert process.poll() is None, log.read_text()
        return is_listening(port)

    try:
        wait_until(is_up, failure_message=log.read_text)
        yield f"http://127.0.0.1:{port}"
    finally:
        end(process)


class Quiet(BaseHTTPRequestHandler):
    """The base of handlers: what they are asked is not printed."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def answering(handler: type[Quiet], **known: Any) -> Iterator[ThreadingHTTPServer]:
    """Serve HTTP until the block ends; a handler finds what is `known` at its server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        vars(server).update(known, url=f"http://127.0.0.1:{server.server_port}")
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def serve(
    project: Path, server: type[LiveProject] = LiveProject, prefix: Sequence[str] = (), **settings: str
) -> Iterator[LiveProject]:
    """Migrate, make the first administrator if there is none, and serve until the block ends."""
    credentials = project / FIRST_ADMIN
    if prefix or credentials.exists() or names_database(project, settings) or (project / DATABASE).exists():
        migrate(project, prefix, **settings)
    else:
        copy_migrated(project)
    username, password, token = (
        credential(credentials.read_text(), label) for label in ("Username", "Password", "API token")
    )
    live = server(project, free_port(), username, password, token, settings, prefix)
    try:
        live.start()
        yield live
    except BaseException:
        print(f"--- {live.log}\n{live.log.read_text()[-5000:]}")
        raise
    finally:
        live.stop()
