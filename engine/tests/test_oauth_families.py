"""Honest hosts refresh twice and ask again: the tokens of one code are one family, whatever comes at once."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from urllib.parse import urlencode

import pytest

pytest.importorskip("oauth2_provider")

from asgiref.sync import sync_to_async
from django.db import connections as databases
from django.test import Client as Browser
from oauth2_provider.models import AccessToken, Application, Grant, RefreshToken

from agui.contrib.mcp.models import ClientQuestion
from agui.contrib.oauth import connections
from agui.contrib.oauth.models import TokenFamily
from tests.calling import person_of
from tests.hosting import CALLBACK, CLAUDE, SITE, Host, add_client, answered, error_of, open_doors

pytestmark = pytest.mark.database

THIEF = "https://thief.example/client.json"


async def is_open(host: Host, tokens: Any) -> bool:
    return bool((await host.call("ping", token=tokens["access_token"])).status_code == 200)


# --- Asked again


async def test_refresh_that_is_asked_again_gets_the_same_answer_and_later_ends_the_family(host: Host, clock: Any):
    first = await host.connect()
    answers = [(await host.refresh(first["refresh_token"])) for _ in range(3)]
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert answers[-1]["Cache-Control"] == "no-store"
    assert not await is_open(host, first), "it has ended with its refresh token"
    second = answers[0].json()
    # The first process of the host has gone on meanwhile.
    third = (await host.refresh(second["refresh_token"])).json()
    assert (await host.refresh(first["refresh_token"])).json() == second
    assert (await host.refresh(second["refresh_token"])).json() == third
    assert await is_open(host, third)
    # A thief comes with an old one, or the host does after the thief.
    clock.advance(31)
    for tokens in (first, second, third):
        assert error_of(await host.refresh(tokens["refresh_token"])) == "invalid_grant"
        assert not await is_open(host, third)


async def test_code_that_is_exchanged_again_gets_the_same_answer_and_later_ends_its_tokens(host: Host, clock: Any):
    """The first who came with it may have been a thief (RFC 6749, 4.1.2)."""
    others = await host.connect()
    code = await host.get_code()
    first = await host.redeem(code)
    assert (await host.redeem(code)).content == first.content
    assert await RefreshToken.objects.acount() == 2
    second = (await host.refresh(first.json()["refresh_token"])).json()
    assert await is_open(host, second)
    clock.advance(31)
    assert error_of(await host.redeem(code)) == "invalid_grant"
    assert not await is_open(host, second)
    assert error_of(await host.refresh(second["refresh_token"])) == "invalid_grant"
    assert await is_open(host, others), "those of another sign-in go on"


async def test_who_lacks_a_proof_gets_nothing(host: Host):
    """A thief, who is a client of the same site, comes with Claude's code before Claude, and at once after it."""
    await add_client(THIEF, "https://thief.example/cb", CALLBACK)
    code = await host.get_code()

    async def thief_is_refused() -> None:
        for changes in (
            {"code_verifier": "another-" * 8},
            {"code_verifier": host.asks["code_challenge"]},
            {"code_verifier": None},
            {"client_id": THIEF},
            {"redirect_uri": "https://claude.ai/other"},
        ):
            assert error_of(await host.redeem(code, **changes)) in ("invalid_grant", "invalid_request"), changes

    await thief_is_refused()
    tokens = (await host.redeem(code)).json()
    assert error_of(await host.refresh(tokens["refresh_token"], client_id=THIEF)) == "invalid_grant"
    assert await is_open(host, tokens)
    await thief_is_refused()
    # What was answered is nowhere in the database.
    stored = json.dumps([row async for row in TokenFamily.objects.values("answers")])
    assert stored.count(" ") > 1
    for value in tokens.values():
        assert len(str(value)) < 20 or value not in stored


async def test_family_keeps_no_more_than_the_last_answers(host: Host, clock: Any):
    tokens = await host.connect()
    for _ in range(22):
        tokens = (await host.refresh(tokens["refresh_token"])).json()
    assert len((await TokenFamily.objects.aget()).answers) == 20
    clock.advance(31)
    await host.refresh(tokens["refresh_token"])
    assert len((await TokenFamily.objects.aget()).answers) == 1


async def test_strangers_leave_no_rows(host: Host):
    assert error_of(await host.redeem("unknown")) == error_of(await host.refresh("unknown")) == "invalid_grant"
    assert (await host.post("/oauth/revoke", token="unknown", client_id=CLAUDE)).status_code == 200
    assert not await TokenFamily.objects.aexists()


# --- At once


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """Do all of this in threads, each with a connection of its own to the database."""

    def do(work: Callable[[], Any]) -> Any:
        try:
            return work()
        finally:
            databases.close_all()

    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result() for future in [pool.submit(do, work) for work in works]]


def post(form: dict[str, str], path: str = "/oauth/token") -> Any:
    return Browser().post(path, urlencode(form), content_type="application/x-www-form-urlencoded")


@pytest.mark.parametrize("number", [2, 5, 20])
async def test_exchanges_at_once_give_one_pair(host: Host, number: int):
    form = host.form_of_code(await host.get_code())
    for _ in range(4):
        answers = await sync_to_async(at_once)(*[partial(post, form)] * number)
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.content for answer in answers}) == 1
        tokens = answers[0].json()
        assert await is_open(host, tokens)
        form = host.form_of_refresh(tokens["refresh_token"])
    assert await RefreshToken.objects.values("token_family").distinct().acount() == 1
    assert await RefreshToken.objects.filter(revoked=None).acount() == await AccessToken.objects.acount() == 1


def ended_by(by: str, host: Host, tokens: Any) -> Callable[[], Any]:
    if by == "its user":
        application = Application.objects.get(client_id=CLAUDE).pk
        return lambda: connections.revoke(host.user, application)
    return lambda: post({"token": tokens["refresh_token"], "client_id": CLAUDE}, "/oauth/revoke")


def race(by: str, host: Host, tokens: Any, form: dict[str, str]) -> None:
    answers = at_once(ended_by(by, host, tokens), *[partial(post, form)] * 2)
    assert {answer.status_code for answer in answers[1:]} <= {200, 400}
    assert not RefreshToken.objects.filter(revoked=None).exists()
    assert not AccessToken.objects.exists()
    assert not Grant.objects.exists()


@pytest.mark.parametrize("races", [5, pytest.param(500, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("by", "what"), [("its user", "token"), ("the host", "token"), ("its user", "code")])
async def test_end_of_a_connection_is_the_last_word(host: Host, by: str, what: str, races: int):
    for _ in range(races):
        if what == "code":
            tokens, form = None, host.form_of_code(await host.get_code())
        else:
            tokens = await host.connect()
            form = host.form_of_refresh(tokens["refresh_token"])
        await sync_to_async(race)(by, host, tokens, form)


@pytest.mark.parametrize("by", ["its user", "the host"])
async def test_after_the_end_nothing_is_answered_again(host: Host, by: str):
    """The host may end its connection with a token that was exchanged before; another host ends nothing."""
    await add_client(THIEF, "https://thief.example/cb")
    first = await host.connect()
    second = (await host.refresh(first["refresh_token"])).json()
    for token, client in ((first["refresh_token"], THIEF), (second["refresh_token"], THIEF), ("unknown", CLAUDE)):
        await host.post("/oauth/revoke", token=token, client_id=client)
        assert await is_open(host, second)
        assert await RefreshToken.objects.filter(revoked=None).aexists()
    await sync_to_async(lambda: ended_by(by, host, first)())()
    assert not await is_open(host, second)
    for tokens in (first, second):
        assert error_of(await host.refresh(tokens["refresh_token"])) == "invalid_grant"


@pytest.mark.parametrize("by", ["its user", "the host", "a reuse"])
async def test_end_of_a_connection_ends_what_the_app_waits_for(host: Host, clock: Any, by: str):
    await add_client(THIEF, "https://thief.example/cb")
    other = Host(host.user, THIEF, "https://thief.example/cb")
    questions, tokens = [], await host.connect()
    await other.connect()
    for each in (host, other):
        approval = (await each.call("wipe")).json()["result"]["structuredContent"]["approval"]
        questions.append(await ClientQuestion.objects.aget(pk=approval["id"]))
    renewed = (await host.refresh(tokens["refresh_token"])).json()
    assert error_of(await other.refresh(renewed["refresh_token"])) == "invalid_grant"
    assert await ClientQuestion.objects.filter(state="pending").acount() == 2
    if by == "a reuse":
        clock.advance(31)
        assert error_of(await host.refresh(tokens["refresh_token"])) == "invalid_grant"
    else:
        await sync_to_async(lambda: ended_by(by, host, renewed)())()
    for question in questions:
        await question.arefresh_from_db()
    assert [question.state for question in questions] == ["denied", "pending"]
    person = await person_of(host.user)
    page = await person.read(questions[0])
    assert ("ended the connection" in page, 'value="approve"' in page) == (True, False)


# --- What hosts leave out, and what they ask for beyond


@pytest.mark.parametrize("resource", [None, "", SITE, f"{SITE}/"])
async def test_host_that_names_no_endpoint_gets_the_only_one(host: Host, settings: Any, resource: str | None):
    open_doors(settings, agents=1)
    tokens = (await host.redeem(await host.get_code(resource=resource), resource=resource)).json()
    assert await is_open(host, tokens)
    renewed = (await host.refresh(tokens["refresh_token"], resource=resource)).json()
    assert await is_open(host, renewed)


@pytest.mark.parametrize(
    ("asked", "granted"),
    [
        ("tools:read tools:write offline_access", "tools:read tools:write"),
        ("openid email profile", "tools:read tools:write"),
        ("offline_access tools:read", "tools:read"),
        ("", "tools:read tools:write"),
        (None, "tools:read tools:write"),
    ],
)
async def test_host_that_asks_for_unknown_scopes_gets_the_known_ones(host: Host, asked: str | None, granted: str):
    answer = await host.decide(scope=asked, write=False)
    tokens = (await host.redeem(answered(answer)["code"])).json()
    assert tokens["scope"] == "tools:read"
    page = (await host.ask(scope=asked)).content.decode()
    assert ("create, change or delete" in page) == ("tools:write" in granted)
    renewed = await host.refresh(tokens["refresh_token"], scope="tools:read offline_access")
    assert renewed.json()["scope"] == "tools:read"
    assert (await host.call("echo", {"text": "hi"}, token=renewed.json()["access_token"])).status_code == 403
    too_much = await host.refresh(renewed.json()["refresh_token"], scope="tools:write")
    assert too_much.json() == {"error": "invalid_scope", "error_description": "Granted are: tools:read."}
