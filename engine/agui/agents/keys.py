"""The keys of language models, in the environment."""

import os

from django.apps import apps

from agui import conf

STAND_IN = "demo"
"""The model that answers for others while their keys are missing, if its part is installed."""
PART_OF_STAND_IN = "agui.contrib.demo"

# Where each provider looks for its key.
PROVIDER_KEYS = {
    "openai": "OPENAI_API_KEY",
    "openai-chat": "OPENAI_API_KEY",
    "openai-responses": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "google": "GOOGLE_API_KEY",
}


def used_keys() -> list[str]:
    """List the environment variables with the keys of AGENT_MODEL."""
    model = conf.agent_model()
    if not isinstance(model, str):
        return []
    return key_variables(model)


def has_stand_in() -> bool:
    return apps.is_installed(PART_OF_STAND_IN)


def missing_keys(model: str) -> list[str]:
    """List the environment variables that a model or a chain needs and that are not set."""
    return [variable for variable in key_variables(model) if not os.environ.get(variable)]


def key_variables(model: str) -> list[str]:
    """List the environment variables with the keys of a model, or of a chain of models."""
    variables: dict[str, None] = {}
    for name in model.split(","):
        provider = name.strip().partition(":")[0]
        if provider in PROVIDER_KEYS:
            variables[PROVIDER_KEYS[provider]] = None
    return list(variables)
