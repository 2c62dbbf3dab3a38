"""What would fail later is said at start-up, with its cure."""

import pytest
from django.core.checks import run_checks

from agui.checks import check_database


def ids() -> list[str]:
    return [str(message.id) for message in run_checks() if str(message.id).startswith("agui.")]


def test_the_project_as_it_is_has_no_complaint():
    assert ids() == []


def test_daphne_has_to_come_first(settings):
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "daphne"] + ["daphne"]
    assert "agui.E001" in ids()


def test_atomic_requests_can_not_be(settings, monkeypatch):
    monkeypatch.setitem(settings.DATABASES["default"], "ATOMIC_REQUESTS", True)
    assert [message.id for message in check_database()] == ["agui.E002"]


@pytest.mark.parametrize(("key", "expected"), [("", ["agui.W001"]), ("sk-1", [])])
def test_a_missing_key_is_named_to_developers(settings, monkeypatch, key, expected):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    settings.AGENT_MODEL = "openai:gpt-5.2"
    settings.DEBUG = True
    assert ids() == expected
