"""Django system checks: they report at start-up what would fail later, with its cure."""

from importlib import import_module
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.sessions.backends import signed_cookies
from django.core import checks
from django.core.cache import caches
from django.core.cache.backends.base import BaseCache

from agui import conf, parts
from agui.agents.keys import PART_OF_STAND_IN, STAND_IN, has_stand_in, missing_keys
from agui.agents.prices import models_without_price
from agui.lazy_import import LazyImport
from agui.models import AbstractConversation, get_conversation_model
from agui.project_checks import check_applications, check_routes, check_time_zones
from agui.server.versions import versions

warm_up = LazyImport("agui.server.warm_up")


def register() -> None:
    checks.register(check_applications)
    checks.register(check_time_zones)
    checks.register(check_conversations)
    checks.register(check_databases)
    checks.register(check_visitors)
    checks.register(check_parts)
    checks.register(check_model)
    checks.register(check_prices)
    checks.register(check_throttle)
    checks.register(check_static_files)
    checks.register(check_agents, deploy=True)
    checks.register(check_versions, deploy=True)


def check_conversations(**kwargs: Any) -> list[checks.CheckMessage]:
    """Require that no owner can have two conversations of one id."""
    model = get_conversation_model()
    missing = {one.name for one in AbstractConversation._meta.constraints}
    missing -= {one.name for one in model._meta.constraints}
    if not missing:
        return []
    return [
        checks.Error(
            f"{model.__name__} lacks {', '.join(missing)}, a constraint of AbstractConversation.",
            hint="Let its Meta be a subclass of AbstractConversation.Meta.",
            obj=model,
            id="agui.E016",
        )
    ]


def check_databases(**kwargs: Any) -> list[checks.CheckMessage]:
    """Require one database for users and all that they own: a deletion takes both."""
    owned: list[Any] = [get_conversation_model()]
    for config in apps.get_app_configs():
        if config.name.partition(".")[0] == "agui":
            owned += config.get_models()
    return check_routes(owned)


def check_visitors(**kwargs: Any) -> list[checks.CheckMessage]:
    """Require sessions on the server for agents that visitors without an account may use."""
    sessions = import_module(settings.SESSION_ENGINE).SessionStore
    if not issubclass(sessions, signed_cookies.SessionStore):
        return []
    for view in warm_up.import_agents():
        if not getattr(view, "require_authenticated", True):
            break
    else:
        return []
    return [
        checks.Error(
            "An agent has require_authenticated=False, and SESSION_ENGINE keeps nothing on the "
            "server, so nothing tells visitors apart.",
            hint="Keep sessions in the database or in a cache.",
            id="agui.E015",
        )
    ]


def check_parts(**kwargs: Any) -> list[checks.CheckMessage]:
    """Require the parts that the installed parts need."""
    names = {config.name for config in apps.get_app_configs()}
    errors: list[checks.CheckMessage] = []
    for part in parts.installed():
        for needed in part.needs:
            if needed not in names:
                error = checks.Error(
                    f"{part.name!r} in INSTALLED_APPS needs {needed!r}.",
                    hint=f"Add {needed!r} to INSTALLED_APPS, or remove {part.name!r}.",
                    id="agui.E011",
                )
                errors.append(error)
    return errors


def check_model(**kwargs: Any) -> list[checks.CheckMessage]:
    """Warn of missing keys with DEBUG. Without it, a missing key stops the server."""
    model = conf.agent_model()
    if model == STAND_IN and not has_stand_in():
        return [
            checks.Warning(
                f"AGENT_MODEL is {model!r}, a model of a part that is not in INSTALLED_APPS.",
                hint=f"Add {PART_OF_STAND_IN!r} to INSTALLED_APPS, or name a language model, such "
                "as openai:gpt-6.1-terra.",
                id="agui.W004",
            )
        ]
    missing = " and ".join(missing_keys(model))
    if not missing or not settings.DEBUG:
        return []
    answering = "the server does not start"
    if any(not missing_keys(name) for name in model.split(",")):
        answering = "the others answer"
    elif has_stand_in():
        answering = f"the {STAND_IN} model answers"
    return [
        checks.Warning(
            f"AGENT_MODEL is {model!r}, but {missing} is not set.",
            hint=f"Set {missing} in .env. Until then {answering}.",
            id="agui.W001",
        )
    ]


def check_prices(**kwargs: Any) -> list[checks.CheckMessage]:
    """Warn of models without a known price, if there is a limit in US dollars."""
    if conf.get().limits.cost is None:
        return []
    return [
        checks.Warning(
            f"The price of {name!r} in AGENT_MODEL is unknown, so limits in US dollars have no "
            "effect.",
            hint="Also set LIMITS['TOTAL_TOKENS'].",
            id="agui.W002",
        )
        for name in models_without_price()
    ]


def check_throttle(**kwargs: Any) -> list[checks.CheckMessage]:
    """Require a cache that counts in one step: two requests at once must not count as one."""
    rates = conf.get().throttle
    backend = type(caches["default"])
    if not (rates.user or rates.token) or backend.incr is not BaseCache.incr:
        return []
    return [
        checks.Error(
            f"AGUI['THROTTLE'] counts in the cache, and {backend.__name__} can't count in one "
            "step.",
            hint="Use a default of CACHES that can: Redis, Memcached or local memory.",
            id="agui.E002",
        )
    ]


def check_static_files(**kwargs: Any) -> list[checks.CheckMessage]:
    """Warn of static files outside of the path under which the host serves this project."""
    prefix, url = settings.FORCE_SCRIPT_NAME, settings.STATIC_URL or ""
    if not prefix or not url.startswith("/") or url.startswith(f"{prefix}/"):
        return []
    return [
        checks.Warning(
            f"STATIC_URL is {url!r}, and FORCE_SCRIPT_NAME is {prefix!r}: the page asks for its "
            "scripts outside of that path.",
            hint="Write STATIC_URL without a slash at its beginning: Django then adds the path.",
            id="agui.W003",
        )
    ]


def check_agents(**kwargs: Any) -> list[checks.CheckMessage]:
    """Report agents that can't answer. Builds all agents, which raises other mistakes in them."""
    messages: list[checks.CheckMessage] = []
    for name, model in warm_up.models_of_agents():
        if isinstance(model, Exception):
            error = checks.Error(
                f"The agent {name!r} can't answer: {model}",
                hint="The server would not start.",
                id="agui.E012",
            )
            messages.append(error)
    return messages


def check_versions(**kwargs: Any) -> list[checks.CheckMessage]:
    """Tell the versions, for reports of mistakes."""
    return [checks.Info(versions(), id="agui.I001")]
