"""The user's language: of the pages, of the server's sentences, of what a tool says, and of the admin; not of logs."""

import json
import logging
import re
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings as project
from django.core.management import call_command
from django.test import AsyncClient, Client
from django.urls import include, path
from django.utils import timezone
from django.utils.formats import localize
from django.utils.translation import get_language, gettext, override
from pydantic_ai.exceptions import ModelHTTPError

from agui import AgentConfig, DjangoAGUIView, ToolRegistry, get_urls, tool
from agui.errors import RUN_ERRORS, HttpError, NotFound, RunFailed
from agui.http.tokens import create_token
from agui.models import AuditRecord, Run, get_conversation_model
from agui.sentences import fill, fill_lazy
from agui.testing import ScriptedModel, call, collect, fail, say
from tests.conftest import Client as UsersClient
from tests.conftest import run_input
from tests.mounting import serve_urls

MIDDLEWARE = "django.middleware.locale.LocaleMiddleware"
if MIDDLEWARE not in project.MIDDLEWARE:
    pytest.skip("The project has one language", allow_module_level=True)

# What browsers ask for, and what they get.
ASKED = {
    "": ("en", "ltr", "Sign in"),
    "de": ("de", "ltr", "Anmelden"),
    "de-AT,de;q=0.9,en;q=0.8": ("de", "ltr", "Anmelden"),
    "ar-EG,en;q=0.5": ("ar", "rtl", "تسجيل الدخول"),
    "nl,ar;q=0.4,de;q=0.7": ("de", "ltr", "Anmelden"),
    "ja-JP,ja;q=0.9,en;q=0.5": ("ja", "ltr", ""),
    "fr-CA": ("fr", "ltr", ""),
    "es": ("es", "ltr", ""),
    "en-GB,en;q=0.9,de;q=0.8": ("en", "ltr", "Sign in"),
    "nl": ("en", "ltr", "Sign in"),
    "xx-yy;q=nonsense": ("en", "ltr", "Sign in"),
    "*": ("en", "ltr", "Sign in"),
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
    serve_urls(settings, [*agents, path("", include("config.urls"))])


@pytest.fixture
def own(user: Any) -> UsersClient:
    return UsersClient(user, "/own/")


def varies(response: Any) -> bool:
    return "accept-language" in response.headers.get("Vary", "").lower()


@pytest.mark.parametrize("asked", ASKED)
def test_the_page_is_in_the_language_that_the_browser_asks_for(user: Any, asked: str):
    http = Client(headers={"accept-language": asked} if asked else {})
    language, direction, words = ASKED[asked]
    for signed_in in (False, True):
        if signed_in:
            http.force_login(user)
        response = http.get("/" if signed_in else "/accounts/login/")
        assert f'<html lang="{language}" dir="{direction}"' in response.text
        assert signed_in or f"<button>{words}" in response.text
        assert response.headers["Content-Language"] == language
        assert varies(response)
    http.cookies[project.LANGUAGE_COOKIE_NAME] = "ar"  # Django's cookie counts before the header
    assert 'dir="rtl"' in http.get("/").text


def test_a_site_of_one_language_stays_so(user: Any, settings: Any):
    settings.LANGUAGES, settings.LANGUAGE_CODE = [("de", "Deutsch")], "de"
    for asked in ("en", "ar", ""):
        response = Client(headers={"accept-language": asked}).get("/accounts/login/")
        assert '<html lang="de" dir="ltr"' in response.text
        assert 'class="languages"' not in response.text


UNAUTHORIZED = {
    "": "Sign in, or send a valid API token.",
    "ar": "سجّل الدخول، أو أرسل رمز API صالحًا.",
    "ja": "ログインするか、有効な API トークンを送信してください。",
    "nl": "Sign in, or send a valid API token.",
}
FAILED = {
    "": "The model is busy or out of reach. Try again later.",
    "ar-EG": "النموذج مشغول أو يتعذر الوصول إليه. حاول مرة أخرى لاحقًا.",
    "ja": "モデルが混み合っているか、接続できません。あとでもう一度お試しください。",
}


@pytest.mark.parametrize("asked", UNAUTHORIZED)
async def test_an_error_is_in_the_language_of_the_request(own: UsersClient, asked: str):
    response = await AsyncClient().get("/own/threads/", headers={"accept-language": asked})
    assert response.status_code == 401
    assert json.loads(response.content) == {"error": "unauthorized", "message": UNAUTHORIZED[asked]}
    assert varies(response)
    assert response.headers["Cache-Control"] == "no-store"
    response = await own.get(f"threads/?q={'x' * 201}", **{"accept-language": "ja"})
    assert json.loads(response.content)["message"] == "検索できるのは 200 文字までです。"


def answer(settings: Any, *script: Any) -> None:
    view = DjangoAGUIView(registry, AgentConfig(model=ScriptedModel(script)))
    serve_urls(settings, get_urls(view, "own/"))


BUSY = [fail(ModelHTTPError(503, "m"))] * 8


@pytest.mark.parametrize("asked", FAILED)
async def test_a_failure_is_in_the_language_of_its_run_and_later_in_that_of_its_reader(own, settings, asked: str):
    answer(settings, *BUSY)
    response = await own.post(run_input("Hi"), **{"accept-language": asked})
    *_, last = await collect(response)
    assert (last["type"], last["code"]) == ("RUN_ERROR", "model_unavailable")
    assert last["message"] == FAILED[asked]
    for reader, sentence in FAILED.items():
        read = json.loads((await own.get("threads/t1/", **{"accept-language": reader})).content)
        [failure] = read["failures"].values()
        assert (failure["code"], failure["message"]) == ("model_unavailable", sentence)


async def test_the_log_is_the_same_in_each_language(own: UsersClient, settings: Any, caplog: Any):
    answer(settings, *BUSY)
    told = {}
    for number, asked in enumerate(FAILED):
        caplog.clear()
        thread = f"t{number}"
        await collect(await own.post(run_input("Hi", thread=thread), **{"accept-language": asked}))
        await own.get("threads/none/", **{"accept-language": asked})
        assert [record for record in caplog.records if record.levelno >= logging.ERROR]
        words = caplog.text.replace(thread, "thread")
        told[asked] = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|0x[0-9a-f]+|\d+", "0", words)
    assert told["ja"] == told["ar-EG"] == told[""]


def test_an_exception_is_english_and_its_response_is_not():
    with override("de"):
        many = NotFound(fill_lazy("There is no {what}.", what="thread"))
        errors = [HttpError(), RunFailed("timeout"), many]
        assert [str(error) for error in errors] == [
            "Something went wrong on the server.",
            "The run took too long and was stopped.",
            "There is no thread.",
        ]
        assert json.loads(errors[0].response().content)["message"] == "Auf dem Server ist etwas schiefgegangen."
        assert get_language() == "de"


def test_every_code_has_a_sentence_in_every_language():
    for language, _ in project.LANGUAGES[1:]:
        with override(language):
            said = {code: str(sentence) for code, sentence in RUN_ERRORS.items()}
        with override(None):
            assert not [code for code, sentence in RUN_ERRORS.items() if said[code] == str(sentence)]


def test_a_value_that_runs_the_other_way_is_isolated():
    assert fill("Run {tool}?", tool="مهام") == "Run {}مهام{}?".format(*"\u2068\u2069")
    assert fill("تشغيل {tool}؟", tool="send_mail") == "تشغيل \u2068send_mail\u2069؟"
    assert fill("تشغيل {tool}؟", tool="مهام") == "تشغيل مهام؟"
    assert fill("الحد {limit}، {tool}", limit=5_000, tool="{limit}") == "الحد 5000، \u2068{limit}\u2069"


@tool(registry, destructive=True)
def wipe() -> str:
    """Erase everything."""
    return "gone"


async def test_a_question_is_in_the_language_of_its_reader(own: UsersClient, settings: Any):
    answer(settings, call("wipe"))
    *_, last = await collect(await own.post(run_input("Hi"), **{"accept-language": "ar"}))
    assert last["outcome"]["interrupts"][0]["message"] == 'هل تريد تشغيل "\u2068Wipe\u2069"؟'
    thread = json.loads((await own.get("threads/t1/", **{"accept-language": "de"})).content)
    assert thread["pending"][0]["message"] == "„Wipe“ ausführen?"
    decided = {"interruptId": "int-none", "status": "resolved", "payload": {"approved": True}}
    *_, last = await collect(await own.post(run_input(resume=[decided]), **{"accept-language": "fr"}))
    assert last["message"] == "La réponse ne correspond à aucune question en attente."


@pytest.mark.parametrize(
    ("asked", "said"), [("de-CH", "de Montag 1,5"), ("ar", "ar الاثنين 1,5"), ("", "en Monday 1.5")]
)
async def test_a_tool_runs_in_the_language_of_its_user(own: UsersClient, user: Any, asked: str, said: str):
    browser = UsersClient(None, "/own/")
    await browser.http.aforce_login(user)
    headers = {"accept-language": asked} if asked else {}
    for client in (own, browser):
        response = await client.post(run_input("Hi"), **headers)
        assert response.status_code == 200, response.content
        [result] = [event["content"] for event in await collect(response) if event["type"] == "TOOL_CALL_RESULT"]
        assert result == said


HEADS = re.compile(r"<th[^>]*>(.*?)</th>|<label[^>]*>(.*?)</label>|<h2[^>]*>(.*?)</h2>", re.DOTALL)


def heads(page: str) -> list[str]:
    """List what the head of each column, each field and each section says."""
    main = page[page.index('id="content"') :]
    words = [re.sub(r"<[^>]+>|\s+", " ", "".join(found)).strip(" :") for found in HEADS.findall(main)]
    return [text for text in words if text]


# Words that are the same in both, and names that only operators of a server know.
SAME = {
    "de": {"Agent", "Filter", "Name", "Code", "Status", "Budget", "Budgets", "Token", "ID", "Id"},
    "fr": {
        *("Agent", "Arguments", "Budget", "Budgets", "Cause", "Code", "Conversation", "Conversations"),
        *("Id", "Message", "Messages"),
    },
    "es": {"Error", "Id", "Tokens"},
    "ja": {"Id"},
    "ar": {"Id"},
}


OF_ROWS = re.compile("^(Mine|agt_|wipe|t1|p50|p95)")


@pytest.mark.skipif(not apps.is_installed("agui.contrib.admin"), reason="The project's admin has no such lists")
@pytest.mark.parametrize("language", [code for code, _ in project.LANGUAGES[1:]])
def test_the_admin_is_in_the_language_of_its_reader(chief: Client, user: Any, language: str):
    thread = {"thread_id": "t1", "scope": f"user:{user.pk}"}
    called = {"tool_name": "wipe", "outcome": "denied", "started_at": timezone.now(), "duration_ms": 5}
    rows = [
        get_conversation_model().objects.create(**thread, owner=user, title="Mine", revision="r"),
        Run.objects.create(**thread, owner=user, run_id="r"),
        AuditRecord.objects.create(**thread, user=user, run_id="r", tool_call_id="c", **called),
        create_token(user)[0],
    ]
    pages = ["/admin/agui/apitoken/add/"]
    for row in rows:
        base = f"/admin/{row._meta.app_label}/{row._meta.model_name}/"
        pages += [base, f"{base}{row.pk}/change/"]
    of_parts = ["attachments/attachment", "feedback/feedback", "spending/spending", "spending/budget/add"]
    for page in [*of_parts, "dashboard/runspan"]:
        if apps.is_installed(f"agui.contrib.{page.partition('/')[0]}"):
            pages.append(f"/admin/agui_{page}/")
    left = {}
    for page in pages:
        english, translated = (
            heads(chief.get(page, headers={"accept-language": asked}).text) for asked in ("en", language)
        )
        assert len(english) == len(translated) > 0, page
        pairs = zip(english, translated, strict=True)
        same = {one for one, two in pairs if one == two and re.search("[A-Za-z]{2}", one) and not OF_ROWS.search(one)}
        if rest := same - SAME[language]:
            left[page] = rest
    assert left == {}


@pytest.mark.django_db
def test_the_models_are_the_same_for_migrations_in_each_language(settings: Any):
    settings.MIGRATION_MODULES = {}  # pytest makes its database without them
    with override("fr"):
        call_command("makemigrations", check=True, dry_run=True)
    assert str(Run._meta.get_field("status").verbose_name) == "status"


def test_a_user_chooses_another_language_than_the_browser_asks_for(user: Any):
    browser = Client(enforce_csrf_checks=True, headers={"accept-language": "en"})
    page = browser.get("/accounts/login/").text
    for code, name in project.LANGUAGES:
        assert re.search(rf'<button name="language" value="{code}" lang="{code}"[^>]*><bdi>{name}</bdi></button>', page)
    assert re.findall(r'value="(\w+)"[^>]*aria-current="true"', page) == ["en"]
    [action] = re.findall(r'<form method="post" action="([^"]+)" class="languages">', page)
    [token] = set(re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page))
    assert browser.post(action, {"language": "ja"}).status_code == 403
    came_from = {"referer": "http://testserver/accounts/login/?next=/"}
    answer = browser.post(action, {"language": "ja", "csrfmiddlewaretoken": token}, headers=came_from)
    assert answer.headers["Location"] == came_from["referer"]
    cookie = answer.cookies[project.LANGUAGE_COOKIE_NAME]
    assert (cookie.value, cookie["max-age"], cookie["samesite"]) == ("ja", 365 * 24 * 60 * 60, "Lax")
    page = browser.get("/accounts/login/").text
    assert '<html lang="ja" dir="ltr"' in page
    assert re.findall(r'value="(\w+)"[^>]*aria-current="true"', page) == ["ja"]
    browser.force_login(user)
    assert 'class="languages"' in browser.get("/").text
