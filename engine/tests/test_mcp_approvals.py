"""Calls of MCP clients that wait on our page: the decision executes them, once, and nothing else does."""

import asyncio
import html
import json
import re
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.test import AsyncClient
from django.urls import path
from pydantic import BaseModel

pytest.importorskip("fastmcp")

import httpx2
from mcp import MCPError, types
from pydantic_ai import ApprovalRequired, RunContext

from agui import AgentConfig, AgentDeps, DjangoAGUIView, ToolRegistry, get_urls, tool
from agui.contrib.mcp import page as pages
from agui.contrib.mcp.approvals import claim, version_of
from agui.contrib.mcp.models import ClientQuestion
from agui.contrib.mcp.views import McpView
from agui.models import AuditRecord
from agui.runs.shutdown import calls
from agui.testing import ScriptedModel
from tests.calling import PAGE, client_of, fields_of, person_of, raw_of, serve_last, serve_tools, site, text_of
from tests.mounting import serve_urls
from tests.serving import serve_to_mcp
from tests.transcript_tools import effects, make_shop

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def mounted(settings: Any) -> None:
    serve_to_mcp(settings, make_shop()[0])


# --- What the page shows, and what a decision does


async def test_arguments_are_kept_encrypted_and_secrets_are_shown_to_nobody(user: Any, settings: Any):
    view = DjangoAGUIView(make_shop()[0], AgentConfig(model=ScriptedModel([])))
    serve_urls(settings, [*get_urls(view), path("admin/", admin.site.urls)])
    user.is_staff = user.is_superuser = True
    await user.asave()
    raw, person = await raw_of(user), await person_of(user)
    question = await raw.waiting(arguments={"amount": 5, "pin": "hunter2", "to": "Cleo"})
    counted = await person.http.get(PAGE, headers={"accept": "application/json"})
    assert counted.json() == {"count": 1, "text": "1 call of another app waits for your approval.", "url": PAGE}
    assert "hunter2" not in await person.read(question)
    assert "Cleo" not in question.arguments
    assert "hunter2" not in json.dumps(question.form) + question.arguments
    for address in ("", f"{question.pk}/change/"):
        shown = (await person.http.get(f"/admin/agui_mcp/clientquestion/{address}")).content.decode()
        assert "aiting for approval" in shown
        assert "hunter2" not in shown
        assert question.arguments not in shown
    assert "amount: 5" in shown
    await person.decide(question)
    assert effects == ["paid 5 to Cleo with hunter2"]
    await question.arefresh_from_db()
    assert "paid" not in question.result
    assert "paid 5" in await person.read(question)
    exported = await person.http.get("/agent/export/")
    [row] = json.loads(b"".join([chunk async for chunk in exported.streaming_content]))["client_questions"]
    assert (row["result"], row["form"]["question"], "arguments" in row) == ("paid 5", 'Run "Pay"?', False)


async def test_what_was_not_touched_arrives_as_it_was_sent(user: Any, settings: Any):
    got: list[Any] = []

    def keep(text: str, number: float, items: list[Any], maybe: str | None = None, flag: bool = False) -> str:
        """Keep what it gets."""
        got.append((text, number, items, maybe, flag))
        return "kept"

    serve_tools(settings, keep, requires_approval=True)
    raw, person = await raw_of(user), await person_of(user)
    sent = {"text": "\na\r\nb  ", "number": 1e3, "items": [1.0, {"b": 1, "a": "\u202e"}, None]}
    question = await raw.waiting("keep", sent)
    page = await person.read(question)
    names = re.findall(r'(?:id|name)="(argument-\d)"', page)
    texts = re.findall(r'<textarea[^>]*name="(argument-\d)"[^>]*>\n(.*?)</textarea>', page, re.S)
    # A browser sends each end of a line as CR LF.
    form = {name: html.unescape(text).replace("\n", "\r\n") for name, text in texts}
    assert (len(form), len(set(names))) == (4, 5)
    assert "characters that can't be seen" in page
    await person.decide(question, **form, **{"argument-4": "true"})
    assert got == [("\na\r\nb  ", 1e3, sent["items"], None, True)]


async def test_text_that_imitates_the_page_is_inert(user: Any, settings: Any):
    fake = '</textarea></p><form action="https://evil.example"><button name="do" value="approve">Deny</button><script>'

    def tidy(ctx: RunContext[AgentDeps], text: str, options: dict[str, Any]) -> str:
        """Tidy up."""
        return fake

    serve_tools(settings, tidy, requires_approval=True, summary=f"Tidy\n{fake}")
    raw, person = await raw_of(user), await person_of(user)
    honest = await person.read(await raw.waiting("tidy", {"text": "a", "options": {}}))
    question = await raw.waiting("tidy", {"text": fake, "options": {fake: fake}})
    page = await person.read(question)
    tags = re.compile(r"<[/a-z]+")
    assert tags.findall(page) == tags.findall(honest)
    await person.decide(question)
    assert fake not in await person.read(question) + (await person.http.get(PAGE)).content.decode()


async def test_reading_changes_nothing_and_is_for_nobody_else(user: Any, other: Any, settings: Any):
    settings.LOGIN_URL, settings.X_FRAME_OPTIONS = "/sign-in/", "SAMEORIGIN"
    raw, person, stranger = await raw_of(user), await person_of(user), await person_of(other)
    question = await raw.waiting()
    paths = [PAGE, f"{PAGE}{question.pk}/"]
    rows = [row async for row in ClientQuestion.objects.values()]
    for address in paths:
        for verb in ("get", "head"):
            for query in ("", "?do=approve", f"?do=deny&shown={version_of(question)}"):
                response = await getattr(person.http, verb)(address + query)
                assert response.status_code == 200
        secure = {"Cache-Control": "no-store", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin"}
        assert secure.items() <= dict(response.items()).items()
        nobody = await AsyncClient().get(address, headers={"sec-fetch-mode": "navigate"})
        assert nobody["Location"] == f"/sign-in/?next={address}"
        assert (await AsyncClient().get(address)).status_code == 401
        # A token is no person: what asks could approve.
        assert (await raw.http.get(address, headers=raw.token)).status_code == 403
        assert (await person.http.get(address, headers=raw.token)).status_code == 403
        # The proxy before a site may ask for these.
        basic = {"authorization": "Basic YTpi"}
        assert (await person.http.get(address, headers=basic)).status_code == 200
        assert (await AsyncClient().get(address, headers=basic)).status_code == 401
    assert str(question.pk) not in (await stranger.http.get(PAGE)).content.decode()
    theirs, unknown = [await stranger.http.get(f"{PAGE}{pk}/") for pk in (question.pk, UUID(int=1))]
    assert theirs.status_code == unknown.status_code == 404
    assert theirs.content == unknown.content
    assert other.username in theirs.content.decode()
    assert rows == [row async for row in ClientQuestion.objects.values()]
    assert effects == []


# --- Links, for clients that open them


async def test_an_older_client_opens_the_page_for_its_user(user: Any):
    person = await person_of(user)
    async with client_of(user, "legacy", lambda _: types.ElicitResult(action="accept")) as client:
        with pytest.raises(MCPError, match="Nothing was done") as asked:
            await client.call_tool("wipe", {"what": "disk"})
        question = await ClientQuestion.objects.aget()
        await person.decide(question)
        done = await client.call_tool("wipe", {"what": "disk"})
    assert asked.value.error.code == -32042
    [about] = asked.value.error.data["elicitations"]
    assert about["url"].endswith(f"{PAGE}{question.pk}/")
    assert about["mode"] == "url"
    assert done.structured_content == {"wiped": "disk"}
    assert effects == ["wiped disk 1"]


# --- Decisions that count for nothing


async def test_forged_posts_execute_nothing(user: Any, other: Any, clock: Any):
    raw, person, stranger = await raw_of(user), await person_of(user), await person_of(other)
    question, second = await raw.waiting(), await raw.waiting("wipe", {"what": "disk"})
    path = f"{PAGE}{question.pk}/"
    fields = fields_of(await person.read(question))
    yes = {**fields, "do": "approve"}
    theirs = fields_of(await stranger.read(await (await raw_of(other)).waiting()))
    late = await raw.waiting("pay", {"amount": 99})
    await ClientQuestion.objects.filter(pk=late.pk).aupdate(expires_at=LONG_AGO)
    forged: list[tuple[AsyncClient, str, dict[str, str]]] = [
        (person.http, path, {"do": "approve", "shown": fields["shown"]}),
        (person.http, path, {**yes, "csrfmiddlewaretoken": "x" * 64}),
        (person.http, path, {**yes, "shown": "0" * 16}),
        (person.http, path, {**yes, "shown": version_of(second)}),
        *((person.http, path, {**yes, "do": do}) for do in ("", "APPROVE")),
        (person.http, f"{PAGE}{UUID(int=1)}/", yes),
        (person.http, f"{PAGE}{late.pk}/", {**yes, "shown": version_of(late)}),
        (stranger.http, path, {**yes, "csrfmiddlewaretoken": theirs["csrfmiddlewaretoken"]}),
        (AsyncClient(), path, yes),
    ]
    codes = [(await http.post(to, form)).status_code for http, to, form in forged]
    codes.append((await raw.http.post(path, yes, headers=raw.token)).status_code)
    assert codes == [403, 403, 409, 409, 400, 400, 404, 409, 404, 401, 403]
    assert effects == []
    assert {row.state async for row in ClientQuestion.objects.all()} == {"pending"}
    await person.decide(question)
    assert (await person.http.post(path, yes)).status_code == 409
    assert effects == ["paid 5 to Bo"]


@pytest.mark.database
async def test_of_decisions_at_once_one_counts(user: Any):
    raw, person = await raw_of(user), await person_of(user)
    question = await raw.waiting()
    fields = fields_of(await person.read(question))
    cookies = {name: morsel.value for name, morsel in person.http.cookies.items()}
    async with site() as url, httpx2.AsyncClient(cookies=cookies, timeout=60) as http:
        address = f"{url}approvals/{question.pk}/"
        forms = [{**fields, "do": "deny" if n % 3 == 2 else "approve"} for n in range(9)]
        answers = await asyncio.gather(*(http.post(address, data=form) for form in forms))
    assert sorted(answer.status_code for answer in answers) == [303, *[409] * 8]
    assert len(effects) == ((await raw.status(question))[0] == "done")
    assert await AuditRecord.objects.acount() == 1


@pytest.mark.database
async def test_the_same_call_at_once_waits_once(user: Any):
    raw = await raw_of(user)
    body, headers = raw.message("tools/call", "pay", name="pay", arguments={"amount": 5})
    async with site() as url, httpx2.AsyncClient(headers=headers, timeout=60) as http:
        answers = await asyncio.gather(*(http.post(url, json=body) for _ in range(8)))
    question = await ClientQuestion.objects.aget()
    assert all(str(question.pk) in answer.text for answer in answers)


def row_of(user: Any, text: str, **fields: Any) -> ClientQuestion:
    about = {"state": "pending", "form": {"title": "x", "question": "y"}, "arguments": text, "call": text}
    return ClientQuestion(user=user, expires_at=datetime(2100, 1, 1, tzinfo=UTC), **about, **fields)


def test_a_call_is_claimed_as_it_was_read_and_in_time_and_once(user: Any):
    row, changed, late = row_of(user, "shown"), row_of(user, "changed"), row_of(user, "late")
    late.expires_at = LONG_AGO
    ClientQuestion.objects.bulk_create([row, changed, late])
    ClientQuestion.objects.filter(pk=changed.pk).update(arguments="changed meanwhile")
    assert [claim(each) for each in (row, row, changed, late)] == [True, False, False, False]


async def test_a_disabled_account_executes_nothing(user: Any, settings: Any):
    async def anybody(request: Any) -> Any:
        return await get_user_model().objects.filter(pk=user.pk).afirst()

    view = DjangoAGUIView(make_shop()[0], AgentConfig(model=ScriptedModel([])), get_user=anybody)
    serve_urls(settings, get_urls(view))
    raw, person = await raw_of(user), await person_of(user)
    question = await raw.waiting()
    user.is_active = False
    await user.asave()
    await person.decide(question)
    assert effects == []
    assert (await raw.status(question))[0] == "denied"


async def test_a_call_whose_process_has_died_never_runs_again(user: Any, clock: Any):
    raw, person = await raw_of(user), await person_of(user)
    question = await raw.waiting()
    await person.read(question)
    await ClientQuestion.objects.aupdate(state="executing", decided_at=question.created_at)
    assert (await raw.status(question))[0] == "executing"
    page = await person.read(question)
    # A page that loads anew by itself takes the reader's place away.
    assert ('<a href="">' in page, "http-equiv" in page) == (True, False)
    clock.advance(700)
    assert (await person.decide(question)).status_code == 409
    assert "never runs again" in (await raw.status(question))[1]
    page = await person.read(question)
    assert ("The server stopped during this call." in page, '<a href="">' in page) == (True, False)
    assert effects == []
    assert (await raw.waiting()).pk != question.pk, "another call is asked about again"


@pytest.mark.parametrize("ends", ["server", "tool"])
async def test_a_call_outlives_the_page_and_says_so_if_the_server_ends(
    user: Any, settings: Any, monkeypatch: pytest.MonkeyPatch, ends: str
):
    monkeypatch.setattr(pages, "SHOW_SECONDS", 0.5)
    gate = serve_last(settings, requires_approval=True)
    raw, person = await raw_of(user), await person_of(user)
    question = await raw.waiting("last", {})
    async with asyncio.timeout(60):
        assert (await person.decide(question)).status_code == 303
        assert "at work" in await person.read(question)
        [at_work] = calls
        if ends == "server":
            at_work.cancel()
        gate.opened.set()
        await asyncio.wait([at_work])
    told = {"server": ("failed", "The server ended before the tool did."), "tool": ("done", "at last")}
    assert await raw.status(question) == told[ends]


# --- Sizes, keys, and who can't be asked


async def test_hostile_sizes(user: Any, settings: Any):
    settings.AGUI = {**settings.AGUI, "MAX_RESULT_BYTES": 10_000_000}

    def gather(what: str, options: dict[str, int]) -> str:
        """Gather anything, and return much."""
        return "x" * 3_000_000

    serve_tools(settings, gather, requires_approval=True)
    raw, person = await raw_of(user), await person_of(user)
    too_large = (await raw.call("gather", {"what": "x" * 300_000, "options": {}}))["result"]
    assert (too_large["isError"], "too large" in text_of(too_large)) == (True, True)
    large = await raw.waiting("gather", {"what": "\u202e<" * 10_000, "options": {f"x{n}": n for n in range(5000)}})
    assert len(json.dumps(large.form)) < 100_000
    page = await person.read(large)
    assert len(page) < 2_000_000
    rows = [row_of(user, str(n), scope=large.scope, caller="x") for n in range(49)]
    await ClientQuestion.objects.abulk_create(rows)
    flood = (await raw.call("gather", {"what": "", "options": {}}))["result"]
    assert (flood["isError"], "Too many calls" in text_of(flood)) == (True, True)
    assert (await person.http.get(PAGE)).status_code == 200
    await person.decide(large)
    assert await raw.status(large) == ("done", "The result is too large to be kept.")


async def test_a_change_of_the_key(user: Any, settings: Any):
    raw, person = await raw_of(user), await person_of(user)
    first, second, third = [await raw.waiting(arguments={"amount": amount}) for amount in (1, 2, 3)]
    await person.decide(first)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key that is long enough for anything, and new"
    assert await raw.status(first) == ("done", "paid 1")
    await person.decide(second)
    assert await raw.status(second) == ("done", "paid 2")
    settings.SECRET_KEY_FALLBACKS = []
    assert await raw.status(first) == ("", "This was decided, and its result can't be read any more.")
    # The sessions that the old key has signed have ended, too.
    person = await person_of(user)
    assert "the site's keys have changed" in await person.read(third)


@pytest.mark.parametrize("who", ["visitor", "user without the page"])
async def test_who_can_not_be_asked_makes_nothing_wait(user: Any, settings: Any, who: str):
    view = DjangoAGUIView(make_shop()[0], AgentConfig(model=ScriptedModel([])), require_authenticated=who != "visitor")
    patterns = get_urls(view) if who == "visitor" else [path("agent/mcp/", McpView(view.endpoint))]
    serve_urls(settings, patterns)
    raw = await raw_of(None if who == "visitor" else user)
    assert "Unknown tool" in (await raw.call())["error"]["message"]
    assert "only be given in the chat" in text_of((await raw.call("transfer"))["result"])
    assert not await ClientQuestion.objects.aexists()


class Receipt(BaseModel):
    total: int


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_tool_with_a_schema_of_its_results_may_wait(user: Any, settings: Any, mode: str):
    registry = ToolRegistry()

    @tool(registry, requires_approval=True)
    def buy(total: int) -> Receipt:
        """Buy something."""
        return Receipt(total=total)

    @tool(registry)
    def refund(ctx: RunContext[AgentDeps], total: int) -> Receipt:
        """Ask from within."""
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        return Receipt(total=-total)

    serve_to_mcp(settings, registry)
    person = await person_of(user)
    async with client_of(user, mode) as client:
        # The official client refuses a result that does not fit the schema that was listed, unless it is an error.
        listed = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        assert (listed["buy"], listed["refund"] is None) == (None, False)
        for name, is_error in (("buy", False), ("refund", True)):
            assert (await client.call_tool(name, {"total": 5})).is_error is is_error
        async for question in ClientQuestion.objects.all():
            await person.decide(question)
        results = [(await client.call_tool(name, {"total": 5})).structured_content for name in ("buy", "refund")]
    assert results == [{"total": 5}, {"total": -5}]
