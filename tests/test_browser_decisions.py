"""The pages on which users decide: notifications, calls of other apps, connected apps and accounts.

One call goes all the way from the chat page to the decision, and axe-core finds nothing on any of the pages.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from itertools import chain
from urllib.parse import urlencode

import pytest
from daily import rows_at_night
from mcp_message import call_tool
from pages import PHONE, Browser, Page, cookies_of, expect, message_box
from projects import append
from servers import DATABASE, FIRST_ADMIN, LiveProject, serve
from test_browser_look import DAY, LONG, MODES, WINDOW, axe, in_modes, look

pytestmark = pytest.mark.browser

__all__ = ["axe", "look"]  # Pytest finds its fixtures by their names.

RECEIVER = "127.0.0.1:9"  # Allowed, but private: the test fails without a network.
PATH = "hook" * 20
SETTINGS = f"""
INSTALLED_APPS += ["oauth2_provider"]
AGUI["MCP"] = {{"ENDPOINT": True, "CONFIG": "mcp.json"}}
AGUI["NOTIFICATIONS"] = {{"MAIL": "opt_in", "WEBHOOK_HOSTS": ["{RECEIVER}", "*.example.com"]}}
"""
REMOTE = {"auth": "oauth", "url": f"http://{RECEIVER}/mcp"}
SERVERS = {"mcpServers": dict.fromkeys(["mail", "a-shop-with-the-longest-name-ever"[:32], "notes"], REMOTE)}
ROUTES = """
urlpatterns += [path("", include("agui.contrib.oauth.urls"))]
"""
TOOLS = '''
from typing import Literal


@tool(registry, confirm="Invite them all?\\n\\nThe table is booked at once.", destructive=True)
def invite(title: str, day: Literal["Monday", "Tuesday"], seats: int, notes: dict[str, str]) -> str:
    """Invite friends."""
    return f"Booked {seats} seats for {title}"
'''
BEGIN = f"""
from datetime import timedelta
from django.contrib.auth import get_user_model
from django.utils import timezone
from oauth2_provider.models import get_access_token_model, get_application_model
from agui.contrib.mcp.models import ClientQuestion, RemoteAccount
from agui.contrib.notifications.models import NotificationChoice

for model in (get_application_model(), ClientQuestion, NotificationChoice, RemoteAccount):
    model.objects.all().delete()
about = dict(client_type="public", name="{LONG}", authorization_grant_type="authorization-code")
for redirect in ("http://127.0.0.1/callback", "https://app.example.com/{PATH}"):
    app = get_application_model().objects.create(client_id=redirect, redirect_uris=redirect, **about)
get_access_token_model().objects.create(
    user=get_user_model().objects.get(), application=app, token="x", scope="tools:read tools:write",
    expires=timezone.now() + timedelta(hours=1), resource=["URL/mcp"],
)
for server, values in (("mail", {{"tokens": "x", "connected_at": timezone.now()}}), ("notes", {{"is_over": True}})):
    RemoteAccount.objects.create(user=get_user_model().objects.get(), server=server, **values)
"""
AT_WORK = """
from django.utils import timezone
from agui.contrib.mcp.models import ClientQuestion
ClientQuestion.objects.filter(state="pending").update(state="executing", decided_at=timezone.now())
"""
NOBODYS = "0" * 8 + "-0000-4000-8000-" + "0" * 12


@pytest.fixture(scope="module")
def deciding(site: LiveProject, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveProject]:
    """The same project with all that its users can decide about, and a database of its own."""
    project = tmp_path_factory.mktemp("deciding") / "project"
    others = shutil.ignore_patterns(f"{DATABASE}*", FIRST_ADMIN, "server.log", "scripted.*", "__pycache__")
    shutil.copytree(site.path, project, symlinks=True, ignore=others)
    for name, text in (("config/settings", SETTINGS), ("config/urls", ROUTES), ("assistant/tools", TOOLS)):
        append(project / f"{name}.py", text)
    (project / "mcp.json").write_text(json.dumps(SERVERS))
    with serve(project) as live:
        yield live


@pytest.fixture(scope="module")
def person(browser: Browser, deciding: LiveProject) -> dict:
    """The cookies of its user."""
    return cookies_of(browser, deciding)


def test_a_person_decides_on_a_phone_without_scripts(
    new_page: Callable[..., Page], deciding: LiveProject, person: dict
):
    waits = call_tool(deciding, "delete_finished_tasks", {})["structuredContent"]["approval"]
    chat = new_page(deciding.url, storage_state=person, **PHONE)
    line = chat.get_by_role("link", name="1 call of another app waits for your approval.")
    expect(line).to_be_visible()
    page = new_page(deciding.url + line.get_attribute("href"), storage_state=person, java_script_enabled=False, **PHONE)
    page.keyboard.press("Tab")
    page.get_by_role("link", name="Skip to the content").press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Delete finished tasks")).to_be_focused()
    page.get_by_role("link", name="Delete finished tasks").click()
    expect(page).to_have_url(waits["link"])
    expect(page.get_by_text("Delete all your finished tasks?")).to_be_visible()
    # Enter in a field decides nothing.
    page.get_by_label("Reason").press("Enter")
    expect(page.get_by_role("button", name="Deny")).to_be_visible()
    assert page.locator("html").bounding_box()["width"] <= 380
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("status")).to_have_text("done")
    assert "deleted" in call_tool(deciding, "approval_status", {"id": waits["id"]})["content"][0]["text"].lower()
    page.get_by_role("link", name="Back to the chat").click()
    expect(page).to_have_url(f"{deciding.url}/")
    chat.reload()
    expect(message_box(chat)).to_be_visible()
    expect(line).to_be_hidden()


# --- How they look


def test_theme_that_a_user_chooses_holds_on_all_pages_of_the_site(new_page, deciding: LiveProject, person: dict):
    page = new_page(deciding.url, storage_state=person, color_scheme="light")
    scheme = "element => getComputedStyle(element).colorScheme"
    page.locator(".avatar").click()
    page.get_by_label("Theme").select_option("Dark")
    for place in ("body", ".panel"):
        assert page.locator(place).evaluate(scheme) == "dark"
    links = page.locator("#account-menu a").evaluate_all("links => links.map((link) => link.href)")
    own = [link for link in links if "/admin/" not in link]
    assert len(own) == 4
    for link in (*own, f"{deciding.url}/accounts/login/"):
        page.goto(link)
        assert page.locator("body").evaluate(scheme) == "dark", link  # also where no script is allowed


def press(page: Page, value: str) -> None:
    page.locator(f"button[value={value}]").click()


def menu(page: Page, live: LiveProject) -> Iterator[str]:
    page.goto(live.url)
    page.locator(".avatar").click()
    expect(page.locator("#account-menu a")).to_have_count(5)  # The admin's is the first.
    yield "menu"


def notifications(page: Page, live: LiveProject) -> Iterator[str]:
    page.goto(f"{live.url}/agent/notifications/page/")
    expect(page.locator("#no-address, form small bdi").first).to_be_visible()
    yield "notifications"
    page.locator("[type=url]").fill(f"https://elsewhere.example/{PATH}")
    press(page, "save")
    expect(page.locator("#refused")).to_be_visible()
    yield "webhook-refused"
    page.locator("[type=url]").fill(f"https://{RECEIVER}/{PATH}")
    page.get_by_role("checkbox").check()
    press(page, "save")
    expect(page.locator(".secret code")).to_be_visible()
    yield "webhook-saved"
    press(page, "test")
    expect(page.get_by_role("alert")).to_be_visible()
    yield "webhook-tested"


def approvals(page: Page, live: LiveProject) -> Iterator[str]:
    invitation = {"title": LONG * 2, "day": "Monday", "seats": 4, "notes": {LONG: LONG}}
    asked = [call_tool(live, "invite", invitation), call_tool(live, "delete_finished_tasks", {})]
    links = [one["structuredContent"]["approval"]["link"] for one in asked]
    page.goto(f"{live.url}/agent/mcp/approvals/")
    expect(page.locator(".rows .framed")).to_have_count(2)
    yield "approvals"
    page.goto(links[0])
    expect(page.locator("textarea.code")).to_be_visible()
    yield "approval"
    page.locator("textarea[inputmode=decimal]").fill("many")
    press(page, "approve")
    expect(page.locator("[aria-invalid=true]")).to_have_count(1)
    yield "approval-misfit"
    page.locator("[aria-invalid=true]").fill("5")
    press(page, "approve")
    expect(page.locator(".state.done")).to_be_visible()
    yield "approval-done"
    live.manage("shell", "-c", AT_WORK)
    page.goto(links[1])
    expect(page.locator(".state.executing")).to_be_visible()
    yield "approval-at-work"
    page.goto(f"{live.url}/agent/mcp/approvals/{NOBODYS}/")
    expect(page.locator("h1")).to_be_visible()
    yield "approval-of-nobody"
    page.goto(f"{live.url}/agent/mcp/approvals/")
    expect(page.locator("h2")).to_be_visible()
    yield "approvals-decided"


def connections(page: Page, live: LiveProject) -> Iterator[str]:
    page.goto(f"{live.url}/oauth/connections/")
    expect(page.locator(".connection")).to_have_count(1)
    yield "connections"
    for redirect in ("http://127.0.0.1/callback", f"https://app.example.com/{PATH}"):
        asks = {
            "response_type": "code",
            "client_id": redirect,
            "redirect_uri": redirect,
            "scope": "tools:read tools:write",
            "code_challenge": "x" * 43,
            "code_challenge_method": "S256",
            "resource": f"{live.url}/mcp",
        }
        page.goto(f"{live.url}/oauth/authorize?{urlencode(asks)}")
        expect(page.get_by_role("checkbox")).to_be_checked()
        yield "consent-" + redirect.partition(":")[0]
    page.goto(f"{live.url}/oauth/authorize?client_id=unknown")
    expect(page.locator("h1")).to_be_visible()
    yield "refused"


def accounts(page: Page, live: LiveProject) -> Iterator[str]:
    address = f"{live.url}/agent/mcp/accounts/"
    page.goto(address)
    expect(page.locator(".rows .framed")).to_have_count(3)
    yield "accounts"
    page.get_by_role("listitem").filter(has_text="longest").locator("button").click()
    expect(page.get_by_role("alert")).to_be_visible()
    yield "account-not-reached"
    page.goto(f"{address}mail/callback/?state=unknown")
    expect(page.get_by_role("alert")).to_be_visible()
    yield "account-sign-in-unknown"


@pytest.mark.parametrize(
    ("language", "modes"), [("en", DAY), *rows_at_night(*((one, list(MODES)) for one in ("en", "ar", "ja")))]
)
def test_no_page_on_which_users_decide_has_a_finding(
    new_page: Callable[..., Page], deciding: LiveProject, person: dict, look, language: str, modes: list[str]
):
    deciding.manage("shell", "-c", BEGIN.replace("URL", deciding.url))
    page = new_page(storage_state=person, bypass_csp=True, reduced_motion="reduce", viewport=WINDOW)
    page.context.add_cookies([{"name": "django_language", "value": language, "url": deciding.url}])
    for state in chain(*(pages(page, deciding) for pages in (menu, notifications, approvals, connections, accounts))):
        expect(page.locator("html")).to_have_attribute("lang", language)
        if state != "menu":
            # The page belongs to the site: it has the site's name and a link to the chat.
            expect(page.get_by_role("banner").get_by_role("link")).to_have_count(2)
            expect(page.get_by_role("banner")).to_contain_text("My Assistant")
            expect(page.get_by_role("main").get_by_role("heading", level=1)).to_have_count(1)
        for mode, rules in in_modes(page, modes):
            shown = f"{state}-{mode}"
            look(page, shown, rules)
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, shown
