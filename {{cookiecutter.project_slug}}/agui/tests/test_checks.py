"""What would fail later is said at start-up, with its cure."""

import pytest
from django.core.checks import run_checks


def ids() -> list[str]:
    return [str(message.id) for message in run_checks() if str(message.id).startswith("agui.")]


@pytest.mark.django_db  # Django 6.1's own checks ask it
def test_the_project_as_it_is_has_no_complaint():
    assert ids() == []


@pytest.mark.django_db  # Django 6.1's own checks ask it
def test_where_it_is_deployed_it_says_that_one_process_serves_the_site(settings):
    settings.AGUI = {**settings.AGUI, "REDIS_URL": None}
    found = {str(message.id) for message in run_checks(include_deployment_checks=True)}
    assert "agui.I001" in found


@pytest.mark.django_db  # Django 6.1's own checks ask it
def test_daphne_has_to_come_first(settings):
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "daphne"] + ["daphne"]
    assert "agui.E001" in ids()


@pytest.mark.django_db  # Django 6.1's own checks ask it
def test_without_daphne_the_cure_is_said(settings):
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "daphne"]
    [message] = [message for message in run_checks() if message.id == "agui.E001"]
    assert "'daphne' is not in INSTALLED_APPS" in message.msg
    assert "Put it first" in message.hint
    assert "ASGI_APPLICATION" in message.hint


@pytest.mark.django_db  # Django 6.1's own checks ask it
def test_daphne_may_be_named_by_its_configuration(settings):
    settings.INSTALLED_APPS = [{"daphne": "daphne.apps.DaphneConfig"}.get(app, app) for app in settings.INSTALLED_APPS]
    assert ids() == []


@pytest.mark.django_db  # Django 6.1's own checks ask it
@pytest.mark.parametrize(("key", "expected"), [("", ["agui.W001"]), ("sk-1", [])])
def test_a_missing_key_is_named_to_developers(settings, monkeypatch, key, expected):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    settings.AGENT_MODEL = "openai:gpt-5.2"
    settings.DEBUG = True
    assert ids() == expected
