"""The browser chooses the language: of the pages, of Django's own sentences, and of what a tool says."""

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings as project
from django.test import AsyncClient, Client
from django.urls import include, path
from django.utils.formats import localize
from django.utils.translation import get_language, gettext

from agui import AgentConfig, DjangoAGUIView, ToolRegistry, get_urls, tool
from agui.http.tokens import create_token
from agui.testing import ScriptedModel, call, collect, say
from engine.conftest import run_input

MIDDLEWARE = "django.middleware.locale.LocaleMiddleware"
if MIDDLEWARE not in project.MIDDLEWARE:
    pytest.skip("The project has one language", allow_module_level=True)

# What browsers ask for, and what they get.
ASKED = {
    "": ("en", "ltr"),
    "de": ("de", "ltr"),
    "de-AT,de;q=0.9,en;q=0.8": ("de", "ltr"),
    "ar": ("ar", "rtl"),
    "ar-EG,en;q=0.5": ("ar", "rtl"),
    "fr,ar;q=0.4,de;q=0.7": ("de", "ltr"),
    "en-GB,en;q=0.9,de;q=0.8": ("en", "ltr"),
    "fr": ("en", "ltr"),
    "xx-yy;q=nonsense": ("en", "ltr"),
    "*": ("en", "ltr"),
}
registry = ToolRegistry()


@tool(registry)
def language() -> str:
    """Tell the language of the user."""
    return f"{get_language()} {gettext('Monday')} {localize(1.5)}"


@pytest.fixture(autouse=True)
def routes(settings: Any) -> None:
    model = ScriptedModel([call("language"), say("Done.")] * 8)
    agents = get_urls(DjangoAGUIView(registry, AgentConfig(model=model)), "own/", namespace="own")
    settings.ROOT_URLCONF = type("Urls", (), {"urlpatterns": [*agents, path("", include("config.urls"))]})


def varies(response: Any) -> bool:
    return "accept-language" in response.headers.get("Vary", "").lower()


@pytest.mark.parametrize("asked", ASKED)
def test_the_page_is_in_the_language_that_the_browser_asks_for(user: Any, asked: str):
    http = Client(headers={"accept-language": asked} if asked else {})
    language, direction = ASKED[asked]
    for signed_in in (False, True):
        if signed_in:
            http.force_login(user)
        response = http.get("/" if signed_in else "/accounts/login/")
        assert f'<html lang="{language}" dir="{direction}">' in response.text
        assert response.headers["Content-Language"] == language
        assert varies(response)


@pytest.mark.django_db
@pytest.mark.parametrize(("asked", "words"), [("en", "Sign in"), ("de", "Anmelden"), ("ar", "تسجيل الدخول")])
def test_the_sign_in_page_has_its_words(asked: str, words: str):
    assert f"<button>{words}</button>" in Client(headers={"accept-language": asked}).get("/accounts/login/").text


def test_the_cookie_of_django_counts_before_the_header(user: Any):
    http = Client(headers={"accept-language": "de"})
    http.cookies[project.LANGUAGE_COOKIE_NAME] = "ar"
    assert 'dir="rtl"' in http.get("/accounts/login/").text


def test_a_site_of_one_language_stays_so(user: Any, settings: Any):
    settings.LANGUAGES, settings.LANGUAGE_CODE = [("de", "Deutsch")], "de"
    for asked in ("en", "ar", ""):
        response = Client(headers={"accept-language": asked}).get("/accounts/login/")
        assert '<html lang="de" dir="ltr">' in response.text


async def test_the_api_says_the_same_in_each_language(user: Any):
    """An error's words are for people and its code for programs: the page has words of its own for many."""
    answers = set()
    for asked in ASKED:
        response = await AsyncClient().get("/own/threads/", headers={"accept-language": asked})
        assert response.headers["Content-Language"] == ASKED[asked][0]
        answers.add((response.status_code, response.content))
        assert varies(response)
        assert response.headers["Cache-Control"] == "no-store"
    assert len(answers) == 1


@pytest.mark.parametrize(
    ("asked", "said"), [("de-CH", "de Montag 1,5"), ("ar", "ar الاثنين 1,5"), ("", "en Monday 1.5")]
)
@pytest.mark.parametrize("by_token", [False, True])
async def test_a_tool_runs_in_the_language_of_its_user(user: Any, asked: str, said: str, by_token: bool):
    headers = {"accept-language": asked} if asked else {}
    if by_token:
        headers["authorization"] = f"Bearer {(await sync_to_async(create_token)(user))[1]}"
    http = AsyncClient()
    if not by_token:
        await http.aforce_login(user)
    response: Any = await http.post("/own/", json.dumps(run_input("Hi")), "application/json", headers=headers)
    assert response.status_code == 200, response.content
    [result] = [event["content"] for event in await collect(response) if event["type"] == "TOOL_CALL_RESULT"]
    assert result == said
