"""API tokens: what gets in, what does not, and what is kept of one."""

import io
import logging
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import Manager
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agui.errors import Unauthorized
from agui.http.tokens import _find_user, create_token, hash_token, token_user
from agui.models import ApiToken


def request_with(header):
    return RequestFactory().get("/", headers={"Authorization": header} if header is not None else {})


@pytest.fixture
def token(user):
    return create_token(user, "laptop")


async def user_of(text):
    return await token_user(request_with(f"Bearer {text}"))


async def test_token_finds_its_user(user, token):
    for scheme in ("Bearer ", "bEARER  "):
        assert await token_user(request_with(f"{scheme}{token[1]} ")) == user


@pytest.mark.parametrize("header", [None, "", "Basic YTpi", "Token agt_x", "Bearerx"])
async def test_no_bearer_token_is_nobody(header, db):
    assert await token_user(request_with(header)) is None


@pytest.mark.parametrize("text", ["", "agt_", "agt_wrong", "é", "a\x00b", "x" * 10_000, "the digest"])
async def test_unknown_token_is_refused(text, token):
    with pytest.raises(Unauthorized):
        await user_of(token[0].digest if text == "the digest" else text)


async def test_expired_or_revoked_token_is_refused_in_the_same_words(token):
    refusals = set()
    for text, change in (
        ("agt_no", {}),
        (token[1], {"expires_at": timezone.now()}),
        (token[1], {"expires_at": timezone.now() - timedelta(days=1)}),
        (token[1], {"expires_at": None, "revoked_at": timezone.now()}),
    ):
        await ApiToken.objects.aupdate(**change)
        with pytest.raises(Unauthorized) as refusal:
            await user_of(text)
        refusals.add(str(refusal.value))
    assert len(refusals) == 1


async def test_inactive_user_is_refused(user, token):
    user.is_active = False
    await user.asave()
    with pytest.raises(Unauthorized):
        await user_of(token[1])


def test_only_the_digest_is_kept(user, token):
    row, text = token
    stored = ApiToken.objects.values().get()
    assert text not in repr(stored)
    assert stored["digest"] == hash_token(text)
    assert text.startswith("agt_")
    assert stored["prefix"] == text[:12]
    assert row.user_id == stored["user_id"]
    assert len({create_token(user)[1] for _ in range(50)}) == 50


def test_life_is_the_settings_by_default(user, settings):
    settings.AGUI = {"TOKEN_DAYS": 3}
    life = create_token(user)[0].expires_at - timezone.now()
    assert timedelta(days=2, hours=23) < life < timedelta(days=3)
    assert create_token(user, days=None)[0].expires_at is None


@pytest.mark.parametrize("days", [0, -1, 10**9])
def test_impossible_life_is_refused(user, days):
    with pytest.raises(ValueError, match="1 to 36500"):
        create_token(user, days=days)
    assert not ApiToken.objects.exists()


async def test_use_is_recorded_once_a_minute(token):
    await user_of(token[1])
    first = (await ApiToken.objects.aget()).last_used_at
    assert first is not None
    await user_of(token[1])
    assert (await ApiToken.objects.aget()).last_used_at == first
    await ApiToken.objects.aupdate(last_used_at=first - timedelta(seconds=61))
    await user_of(token[1])
    assert (await ApiToken.objects.aget()).last_used_at >= first


async def test_no_log_has_the_token(token, caplog):
    caplog.set_level(logging.DEBUG)
    await user_of(token[1])
    with pytest.raises(Unauthorized):
        await user_of(token[1] + "x")
    assert token[1] not in caplog.text


def test_lookup_is_two_queries(user, token):
    for _ in range(20):
        create_token(user)
    ApiToken.objects.update(last_used_at=timezone.now())
    with CaptureQueriesContext(connection) as queries:
        assert _find_user(hash_token(token[1])) == user
    assert len(queries) == 2  # The token, its user


async def test_user_whom_the_projects_manager_hides_is_refused(user, token, monkeypatch):
    class Visible(Manager):
        def get_queryset(self):
            return super().get_queryset().exclude(username="ada")

    manager = Visible()
    manager.model = User = type(user)
    assert await user_of(token[1]) == user
    monkeypatch.setattr(User._meta, "default_manager", manager)  # By which sessions find their user, too
    with pytest.raises(Unauthorized):
        await user_of(token[1])


def run_command(*args):
    out, err = io.StringIO(), io.StringIO()
    call_command("create_token", *args, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_command_prints_the_token_alone_on_its_last_line(user):
    out, err = run_command("ada", "--name", "ci", "--days", "2")
    text = out.splitlines()[-1]
    token = ApiToken.objects.get(digest=hash_token(text))
    assert (token.user, token.name) == (user, "ci")
    assert token.expires_at - timezone.now() < timedelta(days=2)
    assert text not in err
    assert "ada" in err


def test_command_for_an_unknown_or_inactive_user_says_the_cure(user):
    user.is_active = False
    user.save()
    for name, cure in (("nobody", "createsuperuser"), ("ada", "activate")):
        with pytest.raises(CommandError, match=cure):
            run_command(name)


@pytest.mark.parametrize("options", [("--days", "0"), ("--days", "-3"), ("--days", "x"), ("--name", "n" * 101)])
def test_command_refuses_what_makes_no_sense(user, options):
    with pytest.raises(CommandError):
        run_command("ada", *options)
    assert not ApiToken.objects.exists()


def revoke(*arguments):
    out = io.StringIO()
    call_command("revoke_token", *arguments, stdout=out)
    return out.getvalue().strip()


@pytest.mark.parametrize("given", [lambda text: text[:12], lambda text: text])
def test_token_is_revoked_by_its_prefix_or_with_all_of_its_user(user, other, given):
    text = create_token(user)[1]
    kept = [create_token(owner)[0] for owner in (user, user, other)]
    assert revoke(given(text)) == "Tokens revoked: 1."
    assert revoke(given(text)) == "Tokens revoked: 0."
    assert set(ApiToken.objects.filter(revoked_at=None)) == set(kept)
    assert revoke("--user", "ada") == "Tokens revoked: 2."
    assert [token.user for token in ApiToken.objects.filter(revoked_at=None)] == [other]


@pytest.mark.parametrize("arguments", [[], ["agt_", "--user", "ada"], ["agt_"], ["--user", "nobody"]])
def test_what_names_no_token_revokes_none(user, arguments):
    create_token(user)
    with pytest.raises(CommandError):
        revoke(*arguments)
    assert ApiToken.objects.filter(revoked_at=None).count() == 1
