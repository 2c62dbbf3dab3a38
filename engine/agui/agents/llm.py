"""The language model that answers: by name, as a chain of fallbacks, or as a client chooses."""

import re
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

from agui import parts
from agui.agents.keys import PART_OF_STAND_IN, STAND_IN, has_stand_in, missing_keys
from agui.errors import Unprocessable

TOO_LONG = re.compile(
    "exceed_context_size|context_length|(exceed|maximum|longer).{0,40}context.?(length|size|window)"
    "|(prompt|input) is too long",
    re.IGNORECASE,
)
MAX_NAME_CHARS = 255  # The width of the column
# The names and systems of models that answer without a provider: the demo, and those of tests.
STAND_INS = {"demo", "function", "scripted", "test"}


def resolve_model(model: Model | str) -> Model:
    """Find the model that a setting names.

    "python:package.module.attribute" names a Model of your own, or a function that returns one. A
    part may have models, such as "demo". Other names are pydantic-ai's: "openai:gpt-6.1-terra". In
    a chain, with commas between the names, each model answers if the one before it can't.

    Raises ImproperlyConfigured with the cure. With DEBUG, models without their key are left out. If
    no model has its key, STAND_IN answers and says so, if its part is installed.
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
    usable = [name for name in names if not missing_keys(name)]
    if missing and not (settings.DEBUG and (usable or has_stand_in())):
        raise ImproperlyConfigured(
            f"AGENT_MODEL = {model!r} needs {' and '.join(missing)}: set it in the environment."
        )
    chain = [_resolve(name) for name in usable]
    if not chain:
        return _resolve(STAND_IN, f"{missing[0]} is not set, so {names[0]} can't answer yet.")
    if len(chain) == 1:
        return chain[0]
    # The capability ModelFallback would also fall back from a model that the client has chosen.
    from pydantic_ai.models.fallback import FallbackModel

    return FallbackModel(*chain)


def _resolve(name: str, notice: str = "") -> Model:
    for part in parts.installed():
        model = part.model(name, notice)
        if model is not None:
            return model
    if name.startswith("python:"):
        return _import_model(name.removeprefix("python:"))
    try:
        return infer_model(name)
    except ImportError as error:
        raise ImproperlyConfigured(
            f"AGENT_MODEL = {name!r} needs a package: add the extra for it to "
            f"pydantic-ai-slim[ag-ui] in pyproject.toml, then `make setup`. ({error})"
        ) from error
    except (UserError, ValueError) as error:
        if name == STAND_IN:
            raise ImproperlyConfigured(
                f"AGENT_MODEL = {name!r} is a model of the part {PART_OF_STAND_IN!r}: add it to "
                "INSTALLED_APPS, or name a language model, such as openai:gpt-6.1-terra."
            ) from error
        if ":" not in name:
            raise ImproperlyConfigured(
                f"AGENT_MODEL = {name!r} can't be used: write the provider before it, as in "
                "openai:gpt-6.1-terra."
            ) from error
        raise ImproperlyConfigured(f"AGENT_MODEL = {name!r} can't be used: {error}") from error


def _import_model(path: str) -> Model:
    try:
        model = import_string(path)
    except ImportError as error:
        raise ImproperlyConfigured(
            f"AGENT_MODEL = 'python:{path}' can't be imported: {error}."
        ) from error
    if callable(model) and not isinstance(model, Model):
        model = model()
    if not isinstance(model, Model):
        raise ImproperlyConfigured(
            f"AGENT_MODEL = 'python:{path}' is a {type(model).__name__}: name a pydantic-ai Model, "
            "or a function that returns one."
        )
    return model


def resolve_models(models: Mapping[str, Model | str] | Sequence[str]) -> dict[str, Model]:
    """Find the models that a client may choose from, by the names that it uses."""
    if isinstance(models, str):  # To a type checker, a str is a sequence of names.
        raise ImproperlyConfigured(
            f"AgentConfig.models = {models!r} is one name: write [{models!r}]."
        )
    if not isinstance(models, Mapping):
        models = dict(zip(models, models, strict=True))
    return {name: resolve_model(model) for name, model in models.items()}


def choose_model(models: Mapping[str, Model], forwarded_props: Any) -> Model | None:
    """Find the model that a client asks for in `forwardedProps.model`; None is the agent's own.

    If the client has no choice, the property is ignored. Raises Unprocessable for a name that is
    not among the models.
    """
    if not models or not isinstance(forwarded_props, dict):
        return None
    name = forwarded_props.get("model")
    if name is None:
        return None
    if not isinstance(name, str) or name not in models:
        raise Unprocessable(f"forwardedProps.model has to be one of: {', '.join(models)}.")
    return models[name]


def is_stand_in(model: Any) -> bool:
    """Whether this is the demo model, or a model of tests."""
    names = {getattr(model, "system", None), getattr(model, "model_name", None)}
    return not names.isdisjoint(STAND_INS)


def model_beside(answering: Any, own: Model | None) -> Any:
    """Choose the model of a small request that serves a run, such as one for a title.

    That is `own`, and the model that answers the run if `own` is None. If a stand-in answers, `own`
    has to be one, too: then evals and tests ask no provider.
    """
    if own is None or (is_stand_in(answering) and not is_stand_in(own)):
        return answering
    return own


def name_of(model: Any) -> str:
    return str(getattr(model, "model_name", ""))[:MAX_NAME_CHARS]


def error_code(error: Exception) -> str | None:
    """Name a provider's failure by a key of RUN_ERRORS; None for any other error."""
    if isinstance(error, FallbackExceptionGroup):
        codes = [error_code(cause) or "model_error" for cause in error.exceptions]
        # A model that is only busy may answer the next time.
        if "model_unavailable" in codes:
            return "model_unavailable"
        return codes[0]
    if isinstance(error, ModelContextWindowExceededError) or _is_too_long(error):
        return "context_window"
    if isinstance(error, ModelRequestRejectedError | ModelQuotaExceededError | ContentFilterError):
        return "model_refused"
    if isinstance(error, ModelHTTPError) and _is_refusal(error.status_code):
        return "model_refused"
    if isinstance(error, ModelAPIError) and is_timeout(error):
        return "model_timeout"
    if isinstance(error, ModelAPIError | ConcurrencyLimitExceeded):
        return "model_unavailable"
    if isinstance(error, UnexpectedModelBehavior):
        return "model_error"
    return None


def _is_too_long(error: Exception) -> bool:
    """Whether a server of a model says that it got too much: each has words of its own."""
    if not isinstance(error, ModelHTTPError) or error.status_code not in (400, 413, 422):
        return False
    return bool(TOO_LONG.search(str(error.body)))


def _is_refusal(status_code: int) -> bool:
    """Whether a provider would refuse the same request again: 408 and 429 may pass."""
    return 400 <= status_code < 500 and status_code not in (408, 429)


def is_timeout(error: BaseException | None) -> bool:
    """Whether pydantic-ai or an HTTP library raised this because a model was silent too long."""
    while error is not None:
        if isinstance(error, ModelRequestTimeout | ModelTimeoutError | TimeoutError):
            return True
        error = error.__cause__
    return False
