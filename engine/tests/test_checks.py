"""What would fail later is said at start-up, with its cure."""

from importlib.metadata import version
from typing import Any, Self

import pytest
from django.core.checks import run_checks
from django.http import HttpRequest

import agui
from agui import AgentConfig, DjangoAGUIView, ToolRegistry, get_urls
from agui.contrib.session_store.store import DjangoSessionConversationStore
from agui.models import Run
from agui.runs.processes import process_name
from agui.runs.recovery import sweep
from agui.stores.model import ModelConversationStore
from tests.mounting import serve_urls

pytestmark = pytest.mark.django_db  # Django 6.1's own checks ask it


def ids() -> list[str]:
    return [str(message.id) for message in run_checks() if str(message.id).startswith("agui")]


def test_where_it_is_deployed_it_tells_of_one_process_and_the_versions(settings):
    assert ids() == []
    settings.AGUI = {**settings.AGUI, "REDIS": {"URL": None}}
    found = {str(message.id): message.msg for message in run_checks(include_deployment_checks=True)}
    assert "agui_redis.I001" in found
    for package in ("pydantic-ai-slim", "ag-ui-protocol", "django", "daphne"):
        assert f"{package} {version(package)}" in found["agui.I001"]
    assert found["agui.I001"].startswith(f"agui-django {agui.__version__}, ")


def deployed(settings, monkeypatch, *models: str) -> list[Any]:
    """What is told of agents of these models where they are deployed."""
    for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(key, raising=False)
    settings.DEBUG = False
    patterns = []
    for number, model in enumerate(models):
        view = DjangoAGUIView(ToolRegistry(), AgentConfig(model=model, name="shop"))
        patterns += get_urls(view, f"shop{number}/", namespace=f"shop{number}")
    serve_urls(settings, patterns)
    found = run_checks(include_deployment_checks=True)
    return [message for message in found if message.id in ("agui.E012", "agui_demo.W001")]


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("anthropic:claude-sonnet-5-5", "needs ANTHROPIC_API_KEY"),
        ("openai:gpt-6.1-terra,anthropic:claude-sonnet-5-5", "needs OPENAI_API_KEY and ANTHROPIC_API_KEY"),
    ],
)
def test_an_agent_that_can_not_answer_is_no_agent_to_deploy(settings, monkeypatch, model, reason):
    [error] = deployed(settings, monkeypatch, model)
    assert error.id == "agui.E012"
    assert "'shop'" in error.msg
    assert reason in error.msg


@pytest.mark.parametrize(
    ("models", "found"),
    [
        (["demo"], ["agui_demo.W001"]),
        (["python:pydantic_ai.models.test.TestModel,demo"], ["agui_demo.W001"]),
        (["python:pydantic_ai.models.test.TestModel"], []),
        (["gpt-4o", "demo"], ["agui.E012", "agui_demo.W001"]),  # An agent of the same name hides no other
    ],
)
def test_a_demo_model_is_told_where_it_is_deployed(settings, monkeypatch, models, found):
    assert sorted(message.id for message in deployed(settings, monkeypatch, *models)) == found


def test_daphne_has_to_come_first(settings):
    _, *others = settings.INSTALLED_APPS
    for right in ("daphne", "daphne.apps.DaphneConfig"):
        settings.INSTALLED_APPS = [right, *others]
        assert ids() == []
    settings.INSTALLED_APPS = [*others, "daphne"]
    assert "agui.E001" in ids()
    settings.INSTALLED_APPS = others
    [message] = [message for message in run_checks() if message.id == "agui.E001"]
    assert "'daphne' is not in INSTALLED_APPS" in message.msg
    assert "Put it first" in message.hint
    assert "ASGI_APPLICATION" in message.hint


@pytest.mark.parametrize(("key", "expected"), [("", ["agui.W001"]), ("sk-1", [])])
def test_a_missing_key_is_named_to_developers(settings, monkeypatch, key, expected):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    settings.AGENT_MODEL = "openai:gpt-5.2"
    settings.DEBUG = True
    assert ids() == expected


@pytest.mark.parametrize(
    ("url", "found"), [("/static/", ["agui.W003"]), ("/shop/static/", []), ("https://cdn.example/", [])]
)
def test_static_files_outside_of_the_path_of_the_project_are_told(settings, url, found):
    settings.FORCE_SCRIPT_NAME, settings.STATIC_URL = "/shop", url
    assert ids() == found


class OfRequest(ModelConversationStore):
    """A store that a request opens in a way of its own."""

    @classmethod
    def for_request(cls, request: HttpRequest) -> Self:
        return super().for_request(request)


class OfAnything(OfRequest):
    """One that does so, and can be opened without a request."""

    needs_request = False


@pytest.mark.parametrize(
    ("store", "needs_request"),
    [(ModelConversationStore, False), (DjangoSessionConversationStore, True), (OfRequest, True), (OfAnything, False)],
)
def test_workers_are_refused_a_store_that_only_a_request_can_open(settings, store, needs_request):
    name = f"{store.__module__}.{store.__name__}"
    settings.AGUI = {**settings.AGUI, "DURABLE": {"RUN_EXECUTOR": "dbos"}, "CONVERSATION_STORE": name}
    complaints = [message.msg for message in run_checks() if message.id == "agui.E003"]
    assert any("works without a request" in complaint for complaint in complaints) is needs_request


@pytest.mark.parametrize("store", [DjangoSessionConversationStore, OfRequest])
async def test_what_only_a_request_can_open_is_left_to_a_request(settings, transactional_db, store):
    settings.AGUI = {**settings.AGUI, "CONVERSATION_STORE": f"{store.__module__}.{store.__name__}"}
    here = process_name().rpartition("/")[0].rpartition("/")[0]
    run = await Run.objects.acreate(thread_id="t", scope="user:1", process=f"{here}/{2**31 - 2}/abc")
    await sweep()
    await run.arefresh_from_db()
    assert run.status == Run.Status.RUNNING
