"""The keys of models, in the environment."""

import os

from django.conf import settings

# Where each provider looks for its key.
PROVIDER_KEYS = {
    "openai": "OPENAI_API_KEY",
    "openai-chat": "OPENAI_API_KEY",
    "openai-responses": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "google": "GOOGLE_API_KEY",
}


def used_keys() -> list[str]:
    """The environment variables with the keys of AGENT_MODEL."""
    model = settings.AGENT_MODEL
    names = model.split(",") if isinstance(model, str) else ()
    variables = (PROVIDER_KEYS.get(name.strip().partition(":")[0]) for name in names)
    return [variable for variable in dict.fromkeys(variables) if variable]


def missing_keys(model: str) -> list[str]:
    """The environment variables that the model, or those of a chain, need and that are not set."""
    variables = (PROVIDER_KEYS.get(name.strip().partition(":")[0]) for name in model.split(","))
    return [
        variable
        for variable in dict.fromkeys(variables)
        if variable and not os.environ.get(variable)
    ]
