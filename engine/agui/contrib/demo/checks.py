from typing import Any

from django.core import checks

from agui.lazy_import import LazyImport

warm_up = LazyImport("agui.server.warm_up")


def check_agents(**kwargs: Any) -> list[checks.CheckMessage]:
    """Warn of agents that the demo model answers for. Builds all agents."""
    return [
        checks.Warning(
            f"The offline demo model answers for the agent {name!r}.",
            hint="Set AGENT_MODEL to a language model, such as openai:gpt-6.1-terra.",
            id="agui_demo.W001",
        )
        for name, model in warm_up.models_of_agents()
        if _is_demo(model)
    ]


def _is_demo(model: Any) -> bool:
    """Whether a model is the demo model, or falls back to it."""
    chain = getattr(model, "models", None) or [model]
    return any(getattr(model, "model_name", "") == "demo" for model in chain)
