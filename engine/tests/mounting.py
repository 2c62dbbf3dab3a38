"""Agents and routes of a test's own, instead of the tests' site."""

from typing import Any

from django.test import override_settings

from agui import AgentConfig, DjangoAGUIView, get_urls
from tests.urls import registry


def serve_urls(settings: Any, patterns: list[Any]) -> None:
    """Let these be all routes of the site, for the rest of a test."""
    settings.ROOT_URLCONF = _urlconf(patterns)


def _urlconf(patterns: list[Any]) -> Any:
    return type("Urls", (), {"urlpatterns": patterns})


def mounted(**config: Any) -> Any:
    """An agent with the tests' tools at agent/, for a while."""
    view = DjangoAGUIView(registry, AgentConfig(**config))
    return override_settings(ROOT_URLCONF=_urlconf(get_urls(view)))


def answering(**config: Any) -> Any:
    """The same with a provider's model, whose library would else try again for a while."""
    return mounted(**{"model_settings": {"max_retries": 0}, **config})
