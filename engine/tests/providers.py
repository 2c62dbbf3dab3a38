"""The real classes of providers, at a stub of their APIs: `model_of("chat", stub.url)`."""

import ssl
from typing import Any

import httpx2
import pytest
from pydantic_ai.models import Model

APIS = ("chat", "responses", "anthropic", "google")
KEY = "not-a-real-key"


def model_of(api: str, url: str, flavour: str = "") -> Model:
    """A model of an API; `flavour` is pydantic-ai's provider, if it is not the API's own."""
    return MAKERS[flavour or api](url)


def http() -> httpx2.AsyncClient:
    """A client that reads no certificates, which takes longer than a test."""
    return httpx2.AsyncClient(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), timeout=60)


def _openai(url: str) -> Any:
    openai = pytest.importorskip("openai")
    return openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0, http_client=http())


def _chat(url: str) -> Model:
    client = _openai(url)
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIChatModel("gpt-5.6-terra", provider=OpenAIProvider(openai_client=client))


def _responses(url: str) -> Model:
    client = _openai(url)
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIResponsesModel("gpt-5.6-terra", provider=OpenAIProvider(openai_client=client))


def _openrouter(url: str) -> Model:
    client = _openai(url)
    from pydantic_ai.models.openrouter import OpenRouterModel
    from pydantic_ai.providers.openrouter import OpenRouterProvider

    return OpenRouterModel("openai/gpt-5.6-terra", provider=OpenRouterProvider(openai_client=client))


def _ollama(url: str) -> Model:
    client = _openai(url)
    from pydantic_ai.models.ollama import OllamaModel
    from pydantic_ai.providers.ollama import OllamaProvider

    return OllamaModel("qwen3:4b", provider=OllamaProvider(openai_client=client))


def _anthropic(url: str) -> Model:
    anthropic = pytest.importorskip("anthropic")
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = anthropic.AsyncAnthropic(base_url=url, api_key=KEY, max_retries=0, http_client=http())
    return AnthropicModel("claude-sonnet-5-5", provider=AnthropicProvider(anthropic_client=client))


def _google(url: str) -> Model:
    pytest.importorskip("google.genai")
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleModel("gemini-3-flash", provider=GoogleProvider(api_key=KEY, base_url=url, http_client=http()))


MAKERS = {
    "chat": _chat,
    "responses": _responses,
    "openrouter": _openrouter,
    "ollama": _ollama,
    "anthropic": _anthropic,
    "google": _google,
}
