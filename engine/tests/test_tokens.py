"""API tokens: what gets in, what does not, what is kept of one, and who makes them."""

import io
import logging
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.core.management import CommandError, call_command
from django.db.models import Manager
from django.test import Client, RequestFactory
from django.utils import timezone

from agui.errors import Unauthorized
from agui.http.tokens import _find_user, create_token, hash_token, token_user
from agui.models import ApiToken
from tests.conftest import all_models, create_user

pytestmark = pytest.mark.django_db(transaction=True)

ADD = "/admin/agui/apitoken/add/"
MAKE = ("add_apitoken", "view_apitoken")


@pytest.fixture
def token(user):
    return create_token(user, "laptop")


async def user_of(text, scheme="Bearer "):
    headers = {} if text is None else {"Authorization": f"{scheme}{text}"}
    return await token_user(RequestFactory().get("/", headers=headers))


async def test_token_finds_its_user(user, token):
    assert await user_of(token[1]) == await user_of(f"{token[1]} ", "bEARER  ") == user
    for text in (None, "", "Basic YTpi", "Token agt_x", "Bearerx"):
        assert await user_of(text, "") is None


@pytest.mark.parametrize("text", ["", "agt_", "agt_wrong", "é", "a\x00b", "x" * 10_000, "the digest"])
async def test_unknown_token_is_refused(text, token):
    with pytest.raises(Unauthorized):
        await user_of(token[0].digest if text == "the digest" else text)


async def test_expired_or_revoked_token_is_refused_in_the_same_words(token):
    refusals = set()
    for text, change in (
        ("agt_no", {}),
        (token[1], {"expires_at": timezone.now()}),
        (token[1], {"expires_at": None, "revoked_at": timezone.now()}),
    ):
        await ApiToken.objects.aupdate(**change)
        with pytest.raises(Unauthorized) as refusal:
            await user_of(text)
        refusals.add(str(refusal.value))
    assert len(refusals) == 1


def test_only_the_digest_is_kept(user, token):
    row, text = token
    stored = ApiToken.objects.values().get()
    assert text not in repr(stored)
    assert stored["digest"] == hash_token(text)
    assert text.startswith("agt_")
    assert stored["prefix"] == text[:12]
    assert row.user_id == stored["user_id"]
    assert len({create_token(user)[1] for _ in range(50)}) == 50


def test_life_is_the_settings_by_default_and_possible(user, settings):
    settings.AGUI = {"TOKEN_DAYS": 3}
    life = create_token(user)[0].expires_at - timezone.now()
    assert timedelta(days=2, hours=23) < life < timedelta(days=3)
    assert create_token(user, days=None)[0].expires_at is None
    for days in (0, -1, 10**9):
        with pytest.raises(ValueError, match="1 to 36500"):
            create_token(user, days=days)
    assert ApiToken.objects.count() == 2


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


def test_lookup_is_two_queries(user, token, django_assert_num_queries):
    for _ in range(20):
        create_token(user)
    ApiToken.objects.update(last_used_at=timezone.now())
    with django_assert_num_queries(2):  # The token, its user
        assert _find_user(hash_token(token[1])) == user


async def test_user_who_is_inactive_or_hidden_by_the_projects_manager_is_refused(user, token, monkeypatch):
    class Visible(Manager):
        def get_queryset(self):
            return super().get_queryset().exclude(username="ada")

    manager = Visible()
    manager.model = User = type(user)
    with monkeypatch.context() as patch:
        patch.setattr(User._meta, "default_manager", manager)  # By which sessions find their user, too
        with pytest.raises(Unauthorized):
            await user_of(token[1])
    assert await user_of(token[1]) == user
    user.is_active = False
    await user.asave()
    with pytest.raises(Unauthorized):
        await user_of(token[1])


def run_command(name, *args):
    out, err = io.StringIO(), io.StringIO()
    call_command(name, *args, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_command_prints_the_token_alone_on_its_last_line(user):
    out, err = run_command("create_token", "ada", "--name", "ci", "--days", "2")
    text = out.splitlines()[-1]
    token = ApiToken.objects.get(digest=hash_token(text))
    assert (token.user, token.name) == (user, "ci")
    assert token.expires_at - timezone.now() < timedelta(days=2)
    assert text not in err
    assert "ada" in err


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("create_token nobody", "createsuperuser"),
        ("create_token bob", "activate"),
        ("create_token ada --days 0", None),
        ("create_token ada --days -3", None),
        ("create_token ada --days x", None),
        (f"create_token ada --name {'n' * 101}", None),
        ("revoke_token", None),
        ("revoke_token agt_ --user ada", None),
        ("revoke_token agt_", None),
        ("revoke_token --user nobody", None),
    ],
)
def test_command_that_makes_no_sense_changes_nothing(user, token, other, command, words):
    other.is_active = False
    other.save()
    with pytest.raises(CommandError, match=words):
        run_command(*command.split())
    assert ApiToken.objects.get().revoked_at is None


@pytest.mark.parametrize("given", [lambda text: text[:12], lambda text: text])
def test_token_is_revoked_by_its_prefix_or_with_all_of_its_user(user, other, given):
    def revoke(*arguments):
        return run_command("revoke_token", *arguments)[0].strip()

    text = create_token(user)[1]
    kept = [create_token(owner)[0] for owner in (user, user, other)]
    assert revoke(given(text)) == "Tokens revoked: 1."
    assert revoke(given(text)) == "Tokens revoked: 0."
    assert set(ApiToken.objects.filter(revoked_at=None)) == set(kept)
    assert revoke("--user", "ada") == "Tokens revoked: 2."
    assert [token.user for token in ApiToken.objects.filter(revoked_at=None)] == [other]


# --- A token that is made in the admin gives nobody a right that they lack


@pytest.fixture(autouse=True)
def admin_urls(endpoint: None, settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.admin_urls"


def browser_of(user: Any) -> Client:
    browser = Client()
    browser.force_login(user)
    return browser


def make_token(maker: Any, user: Any) -> Any:
    return browser_of(maker).post(ADD, {"user": user.pk, "name": "ci", "days": "5"})


def test_a_clerk_does_not_become_the_superuser():
    everything = Permission.objects.values_list("codename", flat=True)
    root = create_user("root", is_superuser=True)
    # A superuser passes every check, also those that ask for no permission.
    for maker in (create_user("clerk", *MAKE, is_staff=True), create_user("deputy", *everything, is_staff=True)):
        response = make_token(maker, root)
        assert response.status_code == 200
        assert "things that you may not" in response.content.decode()
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize(
    ("maker", "user", "may"),
    [
        ((), (), False),  # A token reads its user's conversations
        (("view_conversation",), (), True),
        (("view_conversation", "view_run"), ("view_run",), True),
        (("view_conversation",), ("view_run",), False),
        (("view_conversation", "delete_conversation"), ("view_conversation", "delete_run"), False),
    ],
)
@pytest.mark.parametrize("is_of_group", [False, True])
def test_a_token_is_made_by_who_may_do_all_that_its_user_may(
    maker: tuple[str, ...], user: tuple[str, ...], may: bool, is_of_group: bool
):
    clerk, ann = create_user("clerk", *MAKE, is_staff=True), create_user("ann")
    for who, codenames in ((clerk, maker), (ann, user)):
        owner = who.groups.create(name=f"of {who}").permissions if is_of_group else who.user_permissions
        owner.add(*Permission.objects.filter(codename__in=codenames))
    make_token(clerk, ann)
    assert ApiToken.objects.count() == may
    # Everybody with the permission makes tokens for themselves.
    assert make_token(clerk, clerk).status_code == 302
    assert ApiToken.objects.filter(user=clerk).count() == 1


def test_a_superuser_makes_tokens_for_all_but_users_who_are_not_active():
    root, other = create_user("root", is_staff=True, is_superuser=True), create_user("other", is_superuser=True)
    gone = create_user("gone", is_active=False)
    for user in (root, other, gone):
        make_token(root, user)
    assert {token.user for token in ApiToken.objects.all()} == {root, other}


def test_the_form_begins_with_the_one_who_opens_it():
    clerk = create_user("clerk", *MAKE, is_staff=True)
    form = browser_of(clerk).get(ADD).context["adminform"].form
    assert (form["user"].value(), form["days"].value()) == (clerk.pk, 90)
    assert browser_of(create_user("dora", is_staff=True)).get(ADD).status_code == 403


def test_nothing_in_the_admin_changes_whose_a_row_is():
    """With all permissions of the engine, a clerk can't make a row somebody else's, nor make one in another's name."""
    models = {one: admin.site._registry[one] for one in all_models() if one in admin.site._registry}
    codenames = [f"{action}_{one._meta.model_name}" for one in models for action in ("add", "change", "view")]
    clerk, root = create_user("clerk", *codenames, is_staff=True), create_user("root", is_superuser=True)
    token = ApiToken.objects.create(user=clerk, digest="d", expires_at=timezone.now())
    body = {"user": root.pk, "owner": root.pk, "scope": f"user:{root.pk}", "name": "x", "days": "5"}
    assert browser_of(clerk).post(f"/admin/agui/apitoken/{token.pk}/change/", body).status_code == 302
    token.refresh_from_db()
    assert (token.user, token.name) == (clerk, "")
    request: Any = SimpleNamespace(user=clerk)
    may_add = {one.__name__ for one, page in models.items() if page.has_add_permission(request)}
    may_change = {one.__name__ for one, page in models.items() if page.has_change_permission(request)}
    # A budget limits its user, and lets nobody act as them.
    assert may_add == may_change == {"ApiToken", "Budget"} & {one.__name__ for one in models}
    assert not any(one.inlines or getattr(one, "list_editable", ()) for one in admin.site._registry.values())
