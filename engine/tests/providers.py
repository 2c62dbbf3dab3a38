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
    # A client that reads no certificates, which takes longer than a test.
    http = httpx2.AsyncClient(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), timeout=60)
    given: dict[str, Any] = {"api_key": KEY, "max_retries": 0, "http_client": http}
    if api == "google":
        pytest.importorskip("google.genai")
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        return GoogleModel("gemini-3-flash", provider=GoogleProvider(api_key=KEY, base_url=url, http_client=http))
    if api == "anthropic":
        anthropic = pytest.importorskip("anthropic")
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        client = anthropic.AsyncAnthropic(base_url=url, **given)
        return AnthropicModel("claude-sonnet-5-5", provider=AnthropicProvider(anthropic_client=client))
    openai = pytest.importorskip("openai")
    from pydantic_ai.models.ollama import OllamaModel
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.models.openrouter import OpenRouterModel
    from pydantic_ai.providers.ollama import OllamaProvider
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openrouter import OpenRouterProvider

    made: dict[str, tuple[str, Any, Any]] = {
        "chat": ("gpt-5.6-terra", OpenAIChatModel, OpenAIProvider),
        "responses": ("gpt-5.6-terra", OpenAIResponsesModel, OpenAIProvider),
        "openrouter": ("openai/gpt-5.6-terra", OpenRouterModel, OpenRouterProvider),
        "ollama": ("qwen3:4b", OllamaModel, OllamaProvider),
    }
    name, model, provider = made[flavour or api]
    return model(name, provider=provider(openai_client=openai.AsyncOpenAI(base_url=f"{url}/v1", **given)))
