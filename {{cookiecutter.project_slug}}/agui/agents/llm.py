"""Which language model answers: by name, as a chain of fallbacks, or as a client chooses."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string
from pydantic_ai.exceptions import (
    ConcurrencyLimitExceeded,
    ContentFilterError,
    FallbackExceptionGroup,
    ModelAPIError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelTimeoutError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.models import Model, infer_model

from agui.agents.demo.model import build_demo_model
from agui.agents.keys import missing_keys
from agui.errors import Unprocessable

MAX_NAME_CHARS = 255  # Of the column of a run


def resolve_model(model: Model | str) -> Model:
    """Find the model that a setting names.

    "demo" is the offline demo; "python:package.module.attribute" a Model of your own, or a function
    that returns one; all else is pydantic-ai's ("openai:gpt-6.1-terra",
    "anthropic:claude-sonnet-5-5"). Of several, with commas between them, each answers when the one
    before it can't. Raises ImproperlyConfigured with the cure. On a developer's machine, those
    without their key are left out; when none has one, the demo model answers and says so.
    """
    if isinstance(model, Model):
        return model
    if not model.strip():
        raise ImproperlyConfigured(
            "AGENT_MODEL is empty: name a model, such as demo or openai:gpt-6.1-terra."
        )
    names = [name.strip() for name in model.split(",")]
    if not all(names):
        raise ImproperlyConfigured(
            f"AGENT_MODEL = {model!r} lacks a name beside a comma: add it or drop the comma."
        )
    missing = missing_keys(model)
    if missing and not settings.DEBUG:
        raise ImproperlyConfigured(
            f"AGENT_MODEL = {model!r} needs {' and '.join(missing)}: set it in the environment."
        )
    found = [_resolve(name) for name in names if not missing_keys(name)]
    if not found:
        return build_demo_model(notice=f"{missing[0]} is not set, so {names[0]} can't answer yet.")
    if len(found) == 1:
        return found[0]
    # Not the capability ModelFallback: that would fall back for a client's choice, too.
    from pydantic_ai.models.fallback import FallbackModel

    return FallbackModel(*found)


def _resolve(name: str) -> Model:
    if name == "demo":
        return build_demo_model()
    if name.startswith("python:"):
        return _import_model(name.removeprefix("python:"))
    try:
        return infer_model(name)
    except ImportError as error:
        raise ImproperlyConfigured(
            f"AGENT_MODEL = {name!r} needs a package: add the extra for it to pydantic-ai-slim[ag-ui] in "
            f"pyproject.toml, then `make setup`. ({error})"
        ) from error
    except (UserError, ValueError) as error:
        if ":" not in name:
            raise ImproperlyConfigured(
                f"AGENT_MODEL = {name!r} can't be used: write the provider before it, as in openai:gpt-6.1-terra."
            ) from error
        raise ImproperlyConfigured(f"AGENT_MODEL = {name!r} can't be used: {error}") from error


def _import_model(path: str) -> Model:
    try:
        found = import_string(path)
    except ImportError as error:
        raise ImproperlyConfigured(
            f"AGENT_MODEL = 'python:{path}' can't be imported: {error}."
        ) from error
    model = found() if callable(found) and not isinstance(found, Model) else found
    if not isinstance(model, Model):
        raise ImproperlyConfigured(
            f"AGENT_MODEL = 'python:{path}' is a {type(model).__name__}: name a pydantic-ai Model, "
            "or a function that returns one."
        )
    return model


def resolve_models(models: Mapping[str, Model | str] | Sequence[str]) -> dict[str, Model]:
    """Find the models that a client may choose from, by the names that it chooses them by."""
    if isinstance(models, str):  # A sequence of texts, to a type checker
        raise ImproperlyConfigured(
            f"AgentConfig.models = {models!r} is one name: write [{models!r}]."
        )
    named = models if isinstance(models, Mapping) else {name: name for name in models}
    return {name: resolve_model(model) for name, model in named.items()}


def choose_model(models: Mapping[str, Model], forwarded_props: Any) -> Model | None:
    """The model that a client asks for with `forwardedProps.model`; None is the agent's own.

    Where there is nothing to choose from, the word is not ours to read. Raises Unprocessable for a
    name that is not among the models.
    """
    name = forwarded_props.get("model") if isinstance(forwarded_props, dict) else None
    if not models or name is None:
        return None
    if not isinstance(name, str) or name not in models:
        raise Unprocessable(f"forwardedProps.model has to be one of: {', '.join(models)}.")
    return models[name]


def name_of(model: Any) -> str:
    return str(getattr(model, "model_name", ""))[:MAX_NAME_CHARS]


def error_code(error: Exception) -> str | None:
    """Name a provider's failure by a key of RUN_ERRORS; None if it is no such failure."""
    if isinstance(error, FallbackExceptionGroup):
        codes = [error_code(one) or "model_error" for one in error.exceptions]
        # Whoever is only busy may answer the next time.
        return "model_unavailable" if "model_unavailable" in codes else codes[0]
    if isinstance(error, ModelContextWindowExceededError):
        return "context_window"
    if isinstance(error, ModelRequestRejectedError | ModelQuotaExceededError | ContentFilterError):
        return "model_refused"
    if (
        isinstance(error, ModelHTTPError)
        and 400 <= error.status_code < 500
        and error.status_code not in (408, 429)
    ):
        return "model_refused"
    if isinstance(error, ModelAPIError) and is_timeout(error):
        return "model_timeout"
    if isinstance(error, ModelAPIError | ConcurrencyLimitExceeded):
        return "model_unavailable"
    return "model_error" if isinstance(error, UnexpectedModelBehavior) else None


def is_timeout(error: BaseException | None) -> bool:
    """Whether a model was silent for too long, as pydantic-ai or an HTTP library has found."""
    while error is not None:
        if isinstance(error, ModelRequestTimeout | ModelTimeoutError | TimeoutError):
            return True
        error = error.__cause__
    return False
