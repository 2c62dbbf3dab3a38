"""The chat beside the pages of the admin: who sees it, what it knows of the page, and which agent it is."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.test import Client as Browser
from django.urls import path, reverse

from agui import get_urls
from agui.contrib.admin_chat.checks import check_admin_chat
from agui.models import ApiToken, get_conversation_model
from tests import two_agents, urls

Thread = get_conversation_model()

urlpatterns = [*get_urls(urls.view), path("admin/", admin.site.urls)]
HOSTILE = "\"></agui-chat><script>alert(1)</script>'{{ 1 }}"


@pytest.fixture(autouse=True)
def routes(settings: Any) -> None:
    settings.ROOT_URLCONF = __name__


@pytest.fixture
def thread(db: None, user: Any) -> Thread:
    return Thread.objects.create(scope=f"user:{user.pk}", thread_id="t1", title=HOSTILE)


def chat_of(page: bytes) -> str | None:
    found = re.search(r"<agui-chat\b[^>]*>", page.decode())
    return found and found[0]


def told(page: bytes) -> Any:
    found = re.search(r'data-admin-page="([^"]*)"', page.decode())
    return found and json.loads(unescape(found[1]))


def ids() -> list[str | None]:
    return [message.id for message in check_admin_chat()]


def test_it_knows_the_object(admin_client: Browser, thread: Thread):
    address = reverse("admin:assistant_conversation_change", args=[thread.pk])
    page = admin_client.get(address).content
    assert told(page) == {
        "title": "View conversation",
        "address": address,
        "model": "assistant.Conversation",
        "primary key": str(thread.pk),
        "name": str(thread),
    }
    assert b"<script>alert" not in page
    assert 'endpoint="/agent/"' in (chat_of(page) or "")


def test_it_knows_what_every_page_is_about(admin_client: Browser, thread: Thread):
    def page(name: str, *args: Any, **query: str) -> Any:
        return told(admin_client.get(reverse(f"admin:{name}", args=args), query).content)

    assert page("assistant_conversation_delete", thread.pk)["primary key"] == str(thread.pk)
    listed = page("assistant_conversation_changelist", q="x" * 3_000)
    assert (listed["model"], listed["search"]) == ("assistant.Conversation", "x" * 500)
    assert page("index")["address"] == "/admin/"
    assert page("agui_apitoken_add")["model"] == ApiToken._meta.label


def test_nobody_else_sees_it_and_popups_have_none(admin_client: Browser, user: Any):
    browser = Browser()
    assert chat_of(browser.get(reverse("admin:login")).content) is None
    browser.force_login(user)
    assert chat_of(browser.get(reverse("admin:login")).content) is None
    assert chat_of(admin_client.get(reverse("admin:agui_apitoken_add"), {"_popup": "1"}).content) is None


def test_check_tells_of_an_order_in_which_the_admins_template_wins(monkeypatch: pytest.MonkeyPatch):
    assert ids() == []
    monkeypatch.setattr(apps, "app_configs", dict(reversed(apps.app_configs.items())))
    assert ids() == ["agui_admin_chat.E001"]


@pytest.mark.parametrize("agent", ["billing", "shared"])
def test_of_several_agents_one_is_named(admin_client: Browser, settings: Any, agent: str):
    settings.ROOT_URLCONF = two_agents.__name__
    settings.AGUI = settings.AGUI | {"ADMIN_CHAT": {"AGENT": agent}}
    assert ids() == []
    chat = chat_of(admin_client.get(reverse("admin:index")).content) or ""
    assert re.search(r'endpoint="([^"]*)"', chat)[1] == f"/{agent}/"


def test_check_tells_of_an_agent_that_is_not_there(settings: Any):
    settings.AGUI = settings.AGUI | {"ADMIN_CHAT": {"AGENT": "unknown"}}
    assert ids() == ["agui_admin_chat.E002"]
