"""From a new project to a tool that a host calls: the steps of connect-hosts.md, then other people's clients."""

import base64
import hashlib
import json
import re
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from urllib.parse import parse_qs, urlencode, urlsplit

import guide
import pytest
from cache import cached, python_with
from conftest import MANUAL, ROOT, npm_install
from pages import Browser, Page, expect
from postgresql import PostgreSQL
from servers import Client, LiveProject, Quiet, answering, free_port, project_environment, serve
from test_mcp_conformance import suite  # noqa: F401

# By day the same ways are gone in process (engine/tests/test_oauth*.py), by the official Python client, too.
pytestmark = [pytest.mark.clients, pytest.mark.nightly]

STEPS = guide.sections(MANUAL / "connect-hosts.md")["Three steps"]
FASTMCP = "fastmcp>=4.2,<5"
ALLAUTH = "django-allauth>=65,<66"
WITH_ALLAUTH = """
from config.settings import *
INSTALLED_APPS += ["allauth", "allauth.account"]
MIDDLEWARE += ["allauth.account.middleware.AccountMiddleware"]
AUTHENTICATION_BACKENDS += ["allauth.account.auth_backends.AuthenticationBackend"]
ACCOUNT_EMAIL_VERIFICATION = "none"
LOGIN_URL = "account_login"
ROOT_URLCONF = "allauth_urls"
"""
ROUTES_OF_ALLAUTH = """
from django.urls import include, path
urlpatterns = [path("members/", include("allauth.urls")), path("", include("config.urls"))]
"""
RESOURCE = """

from agui.contrib.mcp.resources import resource


@resource(registry, "tasks://open", mime_type="text/markdown")
def open_tasks(ctx: RunContext[AgentDeps]) -> str:
    \"\"\"The user's open tasks, as a list.\"\"\"
    return "\\n".join(f"- {task.title}" for task in tasks_of(ctx).filter(done=False))
"""
REGISTERED = """
from oauth2_provider.models import Application
about = dict(redirect_uris="http://127.0.0.1/callback", client_type="public", name="Registered",
             authorization_grant_type="authorization-code")
Application.objects.update_or_create(client_id="registered", defaults=about)
"""


@pytest.fixture(scope="module")
def site(furnished: Callable[..., Path]) -> Iterator[LiveProject]:
    """A new project after the three steps of the page."""
    project = furnished()
    (project / ".env").write_text((project / ".env.example").read_text())
    STEPS.follow(project)
    # Hosts without a document, as on this machine: one of the page's choices.
    with (project / "assistant/tools.py").open("a") as tools:
        tools.write(RESOURCE)
    with (project / "config/settings.py").open("a") as settings:
        settings.write('AGUI["OAUTH"] = {"REGISTRATION": True}\n')
    with serve(project) as live:
        yield live


class Person:
    """The administrator, who signs in at the site and agrees."""

    def __init__(self, site: LiveProject) -> None:
        self.site = site
        self.browser = Client(site.port)
        self.browser.login(site.username, site.password)

    def agree(self, address: str) -> str:
        """Open what a host shows; returns the address to which the person is sent back."""
        assert address.startswith(self.site.url)
        path = address.removeprefix(self.site.url)
        status, page = self.browser.fetch("GET", path)
        assert status == 200, page
        found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
        assert found
        form = urlencode({"csrfmiddlewaretoken": found[1], "decision": "allow", "scope": "tools:write"})
        sent = {"Content-Type": "application/x-www-form-urlencoded", "Origin": self.site.url}
        with self.browser.open("POST", path, form, sent) as answer:
            assert answer.status == 302, answer.read()
            return str(answer.headers["Location"])


def read_until(process: subprocess.Popen[str], beginning: str) -> str:
    assert process.stdout
    seen = []
    for line in process.stdout:
        seen.append(line)
        if line.strip().startswith(beginning):
            return line.strip().removeprefix(beginning).strip()
    raise AssertionError("".join(seen))


def sign_in(page: Page, site: LiveProject) -> None:
    page.get_by_label("Username").fill(site.username)
    page.get_by_label("Password").fill(site.password)
    page.get_by_label("Password").press("Enter")


@pytest.fixture(params=["fastmcp", "typescript"])
def client(request: pytest.FixtureRequest, suite: list[str], tmp_path: Path) -> list[str | Path]:  # noqa: F811
    """The command of a client: its program signs in and calls."""
    if request.param == "fastmcp":
        return [python_with("fastmcp", FASTMCP), ROOT / "tests/mcp/sign_in_fastmcp.py"]
    (tmp_path / "node_modules").symlink_to(Path(suite[0]).parents[2])
    return [suite[0], shutil.copy(ROOT / "tests/mcp/sign_in_typescript.mjs", tmp_path)]


def test_other_peoples_clients_sign_in_and_wait_for_a_person(
    client: list[str | Path], site: LiveProject, landing: ThreadingHTTPServer, new_page: Callable[..., Page]
):
    """Each registers itself, a person agrees in Chromium, and decides there on two calls."""
    command = [*client, f"{site.url}/mcp", f"{landing.url}/callback"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=project_environment(BROWSER="echo open %s"), **pipes) as running:
        stdin = running.stdin
        assert stdin

        def tell(line: str) -> None:
            stdin.write(f"{line}\n")
            stdin.flush()

        page = new_page(read_until(running, "open "))
        sign_in(page, site)
        page.get_by_role("button", name="Allow").click()
        if "fastmcp" not in str(client[1]):  # That one waits at an address of its own.
            tell(landing.landed.get(timeout=60))
        assert "Call the landlord" in read_until(running, "called ")
        for decision in ("Approve", "Deny"):
            page.goto(read_until(running, "decide "))
            page.get_by_role("button", name=decision).click()
            expect(page.get_by_role("status")).to_be_visible()
            tell("decided")
        printed, _ = running.communicate(timeout=60)
    assert running.returncode == 0
    assert printed.splitlines() == [
        "denied The user denied this. Nothing was done.",
        "prompt user",
        "resource - Call the landlord",
        "again as many tools",
        "refreshed",
    ]


def test_the_official_client_signs_in_from_a_page_of_another_site(
    suite: list[str],  # noqa: F811
    site: LiveProject,
    landing: ThreadingHTTPServer,
    browser: Browser,
    tmp_path: Path,
):
    """The browser asks before each request whether the page may make it."""
    (tmp_path / "node_modules").symlink_to(Path(suite[0]).parents[2])
    program = shutil.copy(ROOT / "tests/mcp/sign_in_page.mjs", tmp_path)
    bundle = [tmp_path / "node_modules/.bin/esbuild", program, "--bundle", "--format=iife"]
    script = subprocess.run(bundle, capture_output=True, text=True, check=True).stdout
    callback = f"{landing.url}/callback"
    # Not by new_page: the browser logs each refusal.
    with serve(site.path, CSRF_TRUSTED_ORIGINS=landing.url) as trusting, closing(browser.new_context()) as context:
        page = context.new_page()
        page.goto(landing.url)
        page.add_script_tag(content=script)
        begin = "([address, callback]) => begin(address, callback)"
        assert "Failed to fetch" in page.evaluate(begin, [f"{site.url}/mcp", callback])
        asked = page.evaluate(begin, [f"{trusting.url}/mcp", callback])
        person = context.new_page()
        person.goto(asked)
        sign_in(person, trusting)
        person.get_by_role("button", name="Allow").click()
        [code] = parse_qs(urlsplit(landing.landed.get(timeout=60)).query)["code"]
        called, is_refreshed = page.evaluate("code => finish(code)", code)
    assert "Water the plants" in called
    assert is_refreshed


def test_the_authorization_server_conforms(suite: list[str], site: LiveProject, tmp_path: Path):  # noqa: F811
    """The scenarios of the official suite: the metadata, and a grant with PKCE and a resource."""
    site.manage("shell", "-c", REGISTERED)
    port = free_port()
    command = [*suite, "authorization", "--url", site.url, "--client-id", "registered", "--port", str(port)]
    command += ["--resource", f"{site.url}/mcp", "-o", str(tmp_path)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, env=project_environment(), **pipes) as running:
        page = f"{site.url}/oauth/authorize"
        landed = Person(site).agree(page + read_until(running, page))
        Client(port).fetch("GET", landed.removeprefix(f"http://127.0.0.1:{port}"))
        printed, _ = running.communicate(timeout=60)
    assert running.returncode == 0, printed


FIXED = """
from config.settings import *
AGUI["OAUTH"] = {"SITE_URL": "https://site.example"}
"""


def exchanged(forms: list[dict[str, str]], *sites: LiveProject) -> dict[str, str]:
    """Ask for tokens by all of these forms at once, at several servers; returns the tokens, which are the same."""

    def ask(number: int) -> str:
        sent = {"Content-Type": "application/x-www-form-urlencoded"}
        client = Client(sites[number % len(sites)].port)
        with client.open("POST", "/oauth/token", urlencode(forms[number]), sent) as answer:
            body = answer.read().decode()
            assert answer.status == 200, body
            return body

    with ThreadPoolExecutor(len(forms)) as pool:
        [body] = set(pool.map(ask, range(len(forms))))
    tokens: dict[str, str] = json.loads(body)
    return tokens


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_two_servers_give_one_pair_of_tokens(database: str, site: LiveProject, request: pytest.FixtureRequest):
    """A host that runs twice, or asks again before it has the answer."""
    (site.path / "fixed_settings.py").write_text(FIXED)
    settings = {"DJANGO_SETTINGS_MODULE": "fixed_settings"}
    if database == "postgresql":
        server: PostgreSQL = request.getfixturevalue("postgresql_server")
        settings["DATABASE_URL"] = server.create(f"exchanges_{secrets.token_hex(4)}")
    with serve(site.path, **settings) as one, serve(site.path, **settings) as other:
        one.manage("shell", "-c", REGISTERED)
        person = Person(one)
        for number in (2, 5, 20):
            verifier = secrets.token_urlsafe(48)
            digest = hashlib.sha256(verifier.encode()).digest()
            own = {"client_id": "registered", "redirect_uri": "http://127.0.0.1:9/callback"}
            asks = {"response_type": "code", "code_challenge_method": "S256", **own}
            asks["code_challenge"] = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            landed = person.agree(f"{one.url}/oauth/authorize?{urlencode(asks)}")
            [code] = parse_qs(urlsplit(landed).query)["code"]
            form = {"grant_type": "authorization_code", "code": code, "code_verifier": verifier, **own}
            for _ in range(4):
                tokens = exchanged([form] * number, one, other)
                form = {"grant_type": "refresh_token", "client_id": "registered"}
                form["refresh_token"] = tokens["refresh_token"]
            listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
            sent = {"Content-Type": "application/json", "Authorization": f"Bearer {tokens['access_token']}"}
            with Client(other.port).open("POST", "/mcp", json.dumps(listing), sent) as answer:
                assert answer.status == 200


@pytest.fixture(scope="session")
def allauth() -> Path:
    """A directory with django-allauth."""

    def install(directory: Path) -> None:
        subprocess.run(["uv", "pip", "install", "--quiet", "--no-deps", "--target", directory, ALLAUTH], check=True)

    return cached("allauth", ALLAUTH, install)


def test_accounts_of_allauth_sign_in(allauth: Path, site: LiveProject, landing: ThreadingHTTPServer, new_page):
    """Its login page leads to the question, also for somebody who registers first. No page needs a script."""
    (site.path / "allauth_settings.py").write_text(WITH_ALLAUTH)
    (site.path / "allauth_urls.py").write_text(ROUTES_OF_ALLAUTH)
    settings = {"DJANGO_SETTINGS_MODULE": "allauth_settings", "PYTHONPATH": str(allauth)}
    with serve(site.path, **settings) as live:
        live.manage("shell", "-c", REGISTERED)
        asks = {
            "response_type": "code",
            "client_id": "registered",
            "redirect_uri": f"{landing.url}/callback",
            "scope": "tools:read tools:write",
            "code_challenge": "x" * 43,
            "code_challenge_method": "S256",
            "resource": f"{live.url}/mcp",
        }
        page = new_page(f"{live.url}/oauth/authorize?{urlencode(asks)}", java_script_enabled=False)
        expect(page).to_have_url(re.compile("/members/login/"))
        page.get_by_role("link", name="sign up", exact=True).click()
        page.get_by_label("Username").fill("grace")
        for field in page.locator("[type=password]").all():
            field.fill("hopper-1906")
        page.get_by_role("button", name="Sign Up").click()
        expect(page.get_by_text("grace")).to_be_visible()
        expect(page.get_by_text("a program on your own device")).to_be_visible()
        page.get_by_role("checkbox").uncheck()
        page.get_by_role("button", name="Allow").click()
        expect(page.get_by_text("Landed")).to_be_visible()
    assert "code=" in page.url


class Answer(Quiet):
    def do_GET(self) -> None:
        if self.path.startswith("/callback"):
            self.server.landed.put(f"http://{self.headers['Host']}{self.path}")
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"Landed")


@pytest.fixture
def landing() -> Iterator[ThreadingHTTPServer]:
    """The address of a program on the person's own device: `landed` has who came back."""
    with answering(Answer, landed=Queue()) as server:
        yield server


# --- The official inspector, in Chromium: it signs in by itself, calls tools, reads, and shows a card as an app

CARD = dict(guide.BLOCK.findall((MANUAL / "views.md").read_text().partition("\n## Buttons")[0]))


@pytest.fixture(scope="session")
def inspector() -> list[str | Path]:
    """The command of the inspector, with a Node of its own, too."""
    packages = npm_install(ROOT / "tests/mcp/inspector/package.json", "--ignore-scripts=false")
    program = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    return [packages / "node/bin/node", packages / program]


@contextmanager
def running(command: list[str | Path]) -> Iterator[str]:
    """Run the inspector until the block ends; yields its address, with its key."""
    ports = {"CLIENT_PORT": str(free_port()), "MCP_SANDBOX_PORT": str(free_port())}
    environment = project_environment(MCP_INSPECTOR_SECRET_STORE="memory", MCP_AUTO_OPEN_ENABLED="false", **ports)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        try:
            yield "http://127" + read_until(process, "http://127")
        finally:
            process.terminate()
            process.communicate()


def test_the_inspector_signs_in_asks_and_shows_a_card(
    inspector: list[str | Path], site: LiveProject, browser: Browser, tmp_path: Path
):
    # The site, with the card of the manual
    (site.path / "assistant/templates/assistant/task_card.html").write_text(CARD["html"])
    with (site.path / "assistant/tools.py").open("a") as tools:
        tools.write(f"\n\n{CARD['python']}")
    site.stop()
    site.start()
    servers = {"ours": {"type": "streamable-http", "url": f"{site.url}/mcp"}}
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": servers}))
    # Not by new_page: what the inspector's own page logs is no error of ours.
    command = [*inspector, "--web", "--config", tmp_path / "servers.json"]
    with running(command) as address, closing(browser.new_context()) as context:
        page = context.new_page()
        page.goto(address)
        page.get_by_role("switch").locator("xpath=..").click()
        sign_in(page, site)
        page.get_by_role("button", name="Allow").click()
        expect(page.get_by_text("Connected", exact=True)).to_be_visible()
        page.get_by_text("Tools", exact=True).first.click()
        page.get_by_role("button", name="add_task").click()
        page.get_by_role("textbox", name="title").fill("Call the landlord")
        page.get_by_role("button", name="Execute Tool").click()
        expect(page.get_by_text("Call the landlord").last).to_be_visible()
        decide(page, "Approve")
        expect(page.get_by_text("Deleted 0 finished tasks.")).to_be_visible()
        decide(page, "Deny")
        expect(page.get_by_text("The user denied this. Nothing was done.")).to_be_visible()
        page.get_by_text("Prompts", exact=True).first.click()
        page.get_by_text("Plan my day", exact=True).click()
        expect(page.get_by_text("Look at my open tasks").last).to_be_visible()
        page.get_by_text("Resources", exact=True).first.click()
        page.get_by_text("Open tasks", exact=True).click()
        expect(page.get_by_role("listitem").get_by_text("Call the landlord").first).to_be_visible()
        page.get_by_text("Apps", exact=True).first.click()
        page.get_by_role("button", name="Show one of the user's tasks").click()
        newest = site.manage("shell", "-c", "from assistant.models import Task; print(Task.objects.latest('pk').pk)")
        page.get_by_role("textbox", name="task_id").fill(newest.split()[-1])
        page.get_by_role("button", name="Open App").click()
        card = page.frame_locator("iframe").frame_locator("iframe")
        expect(card.get_by_role("heading")).to_have_text("Call the landlord")
        card.get_by_role("button", name="Complete it").click()
        expect(card.get_by_role("status")).to_have_text("Done: Call the landlord")


def decide(page: Page, decision: str) -> None:
    """Call a tool that waits, and decide on the page to which the inspector leads."""
    page.get_by_role("button", name="list_tasks").click()  # The form comes back with another tool.
    page.get_by_role("button", name="delete_finished_tasks").click()
    page.get_by_role("button", name="Execute Tool").click()
    with page.context.expect_page() as opened:
        page.get_by_role("button", name="Open in Browser").click()
    opened.value.get_by_role("button", name=decision).click()
    expect(opened.value.get_by_role("status")).to_be_visible()
    opened.value.close()
    page.get_by_role("button", name="I've completed it").click()


# --- This site as the client of another, with a second server of it as the other


SHORT = """
from config.settings import *
OAUTH2_PROVIDER = {"ACCESS_TOKEN_EXPIRE_SECONDS": 4}
AGUI["MCP"] = {"CONFIG": "other.json"}
"""
RENEW_ON_AND_ON = """
import asyncio, time
from django.contrib.auth import get_user_model
from agui.contrib.mcp.accounts import tokens
from agui.contrib.mcp.servers import configured_servers

async def main():
    user = await get_user_model().objects.aget()
    (server,) = configured_servers()
    seen, until = set(), time.monotonic() + 15
    while time.monotonic() < until:
        seen.add(await tokens.headers_of(user, server))
    print(len(seen))

asyncio.run(main())
"""
STATE = """
from oauth2_provider.models import RefreshToken
from agui.contrib.mcp.models import RemoteAccount
account = RemoteAccount.objects.get()
print(bool(account.tokens), account.is_over, RefreshToken.objects.filter(revoked=None).count())
"""


def test_many_processes_renew_one_account(site: LiveProject, postgresql_server: PostgreSQL):
    """The other server ends a connection whose refresh token comes twice."""
    (site.path / "short_settings.py").write_text(SHORT)
    entry = {"auth": "oauth", "url": "${OTHER_URL:-http://127.0.0.1:9}/agent/mcp/"}
    (site.path / "other.json").write_text(json.dumps({"mcpServers": {"other": entry}}))
    database = postgresql_server.create(f"renewal_{secrets.token_hex(4)}")
    settings = {"DATABASE_URL": database, "DJANGO_SETTINGS_MODULE": "short_settings"}
    with serve(site.path, **settings) as other, serve(site.path, **settings, OTHER_URL=other.url) as ours:
        person, owner = Person(other), Person(ours)
        page = "/agent/mcp/accounts/"
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', owner.browser.fetch("GET", page)[1])
        form = urlencode({"csrfmiddlewaretoken": token and token[1], "do": "connect", "server": "other"})
        sent = {"Content-Type": "application/x-www-form-urlencoded"}
        with owner.browser.open("POST", page, form, sent) as answer:
            landed = person.agree(answer.headers["Location"])
        assert owner.browser.fetch("GET", landed.removeprefix(ours.url))[0] == 303
        with ThreadPoolExecutor(6) as processes:
            seen = list(processes.map(lambda _: ours.manage("shell", "-c", RENEW_ON_AND_ON), range(6)))
        assert all(int(printed.split()[-1]) >= 3 for printed in seen), "each has seen the token change"
        assert ours.manage("shell", "-c", STATE).split()[-3:] == ["True", "False", "1"]
