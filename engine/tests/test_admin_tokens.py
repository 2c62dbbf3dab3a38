"""A token that is made in the admin gives nobody a right that they lack."""

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission
from django.test import Client
from django.urls import include, path
from django.utils import timezone

from agui.models import ApiToken
from tests.conftest import all_models

urlpatterns = [path("admin/", admin.site.urls), path("", include("tests.urls"))]
pytestmark = pytest.mark.django_db(transaction=True)
MAKE = ("add_apitoken", "view_apitoken")


@pytest.fixture(autouse=True)
def admin_urls(endpoint: None, settings: Any) -> None:
    settings.ROOT_URLCONF = __name__


def make_user(name: str, *permissions: str, **fields: Any) -> Any:
    user = get_user_model().objects.create_user(name, password=None, **fields)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return user


def make_token(maker: Any, user: Any, **more: Any) -> Any:
    browser = Client()
    browser.force_login(maker)
    body = {"user": user.pk, "name": "ci", "days": "5", **more}
    return browser.post("/admin/agui/apitoken/add/", body)


def test_a_clerk_does_not_become_the_superuser():
    everything = Permission.objects.values_list("codename", flat=True)
    root = make_user("root", is_superuser=True)
    # A superuser passes every check, also those that ask for no permission.
    for maker in (make_user("clerk", *MAKE, is_staff=True), make_user("deputy", *everything, is_staff=True)):
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
def test_a_token_for_another_is_made_by_who_may_do_all_that_the_other_may(
    maker: tuple[str, ...], user: tuple[str, ...], may: bool
):
    make_token(make_user("clerk", *MAKE, *maker, is_staff=True), make_user("ann", *user))
    assert ApiToken.objects.count() == may


def test_permissions_of_a_group_count():
    clerk, ann = make_user("clerk", *MAKE, "view_conversation", is_staff=True), make_user("ann")
    group = Group.objects.create(name="editors")
    group.permissions.set(Permission.objects.filter(codename="change_user"))
    ann.groups.add(group)
    make_token(clerk, ann)
    assert not ApiToken.objects.exists()
    clerk.groups.add(group)
    make_token(clerk, ann)
    assert ApiToken.objects.get().user == ann


def test_everybody_with_the_permission_makes_tokens_for_themselves():
    clerk = make_user("clerk", *MAKE, is_staff=True)
    assert make_token(clerk, clerk).status_code == 302
    assert ApiToken.objects.get().user == clerk


def test_a_superuser_makes_tokens_for_all_but_users_who_are_not_active():
    root, other = make_user("root", is_staff=True, is_superuser=True), make_user("other", is_superuser=True)
    gone = make_user("gone", is_active=False)
    for user in (root, other, gone):
        make_token(root, user)
    assert {token.user for token in ApiToken.objects.all()} == {root, other}


def test_the_form_begins_with_the_one_who_opens_it():
    browser, clerk = Client(), make_user("clerk", *MAKE, is_staff=True)
    browser.force_login(clerk)
    form = browser.get("/admin/agui/apitoken/add/").context["adminform"].form
    assert (form["user"].value(), form["days"].value()) == (clerk.pk, 90)
    browser.force_login(make_user("dora", is_staff=True))
    assert browser.get("/admin/agui/apitoken/add/").status_code == 403


def test_nothing_in_the_admin_changes_whose_a_row_is():
    """With all permissions of the engine, a clerk can't make a row somebody else's, nor make one in another's name."""
    models = [one for one in all_models() if one in admin.site._registry]
    codenames = [f"{action}_{one._meta.model_name}" for one in models for action in ("add", "change", "view")]
    clerk, root = make_user("clerk", *codenames, is_staff=True), make_user("root", is_superuser=True)
    token = ApiToken.objects.create(user=clerk, digest="d", expires_at=timezone.now())
    browser = Client()
    browser.force_login(clerk)
    body = {"user": root.pk, "owner": root.pk, "scope": f"user:{root.pk}", "name": "x", "days": "5"}
    assert browser.post(f"/admin/agui/apitoken/{token.pk}/change/", body).status_code == 302
    token.refresh_from_db()
    assert (token.user, token.name) == (clerk, "")
    may_write = {one.__name__ for one in models if admin.site._registry[one].has_add_permission(request_of(clerk))}
    assert may_write == {"ApiToken", "Budget"}  # A budget limits its user, and lets nobody act as them
    may_change = {one.__name__ for one in models if admin.site._registry[one].has_change_permission(request_of(clerk))}
    assert may_change == may_write
    assert not any(one.inlines or getattr(one, "list_editable", ()) for one in admin.site._registry.values())


def request_of(user: Any) -> Any:
    return type("Request", (), {"user": user})()
