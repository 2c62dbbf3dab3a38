"""The engine's settings: the AGUI dictionary of settings.py, with defaults, checked at every depth.

    from agui import conf
    conf.get().heartbeat_seconds

A field `heartbeat_seconds` is the key "HEARTBEAT_SECONDS". Reading waits until first use, so
`override_settings` works in tests. `apps.py` loads once at start-up, so a mistake stops each
command. The code that a setting names is imported later (agents/discovery.py), so a mistake there
stops a server and `manage.py check`.
"""

import os
from functools import cache, lru_cache
from typing import Any, Literal, TypeVar, cast, get_args

from django.conf import settings
from django.core import mail
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from pydantic import Field, TypeAdapter, ValidationError, create_model, field_validator

from agui import parts
from agui.conf_sections import WITHOUT_IMPORTS, FileDownloads, Retention, by_import, imported
from agui.conf_sections import Section as _Section
from agui.money import Dollars

RATE = r"^[1-9][0-9]{0,8}/(second|minute|hour|day)$"


class Limits(_Section):
    """What one run may use at most; None is no limit."""

    requests: int | None = Field(25, gt=0, description="Requests to the model in one run.")
    tool_calls: int | None = Field(50, gt=0, description="Successful tool calls in one run.")
    total_tokens: int | None = Field(None, gt=0, description="Tokens in and out in one run.")
    input_tokens: int | None = Field(
        None, gt=0, description="Tokens that the model reads in one run."
    )
    output_tokens: int | None = Field(
        None, gt=0, description="Tokens that the model writes in one run."
    )
    request_input_tokens: int | None = Field(
        None, gt=0, description="Tokens that the model reads in one request."
    )
    count_tokens: bool = Field(
        False,
        description="Ask the provider to count before each request, so that limits stop what would pass them.",
    )
    cost: Dollars | None = Field(
        None, gt=0, description="What one run may cost; needs a model with a known price."
    )


class Throttle(_Section):
    """How many runs may be asked for: a number, and "/second", "/minute", "/hour" or "/day"; None is no limit."""

    user: str | None = Field(
        None, pattern=RATE, description="By one user, over all tokens and sessions."
    )
    token: str | None = Field(None, pattern=RATE, description="With one API token.")


class EngineSettings(_Section):
    """Every key of AGUI, with its default."""

    agent_factory: str | None = Field(
        None, description="Dotted path of a function that builds the Agent instead."
    )
    conversation_store: str = Field(
        "agui.stores.model.ModelConversationStore",
        description="Dotted path of the class that keeps conversations.",
    )
    audit_logger: str = Field(
        "agui.tools.audit.ModelAuditLogger",
        description="Dotted path of the class that records tool calls.",
    )
    audit_redact: list[str] = Field(
        [
            *(
                "password",
                "passwd",
                "pwd",
                "passphrase",
                "secret",
                "token",
                "credential",
                "authorization",
                "cookie",
            ),
            *("api_key", "access_key", "private_key"),
        ],
        description="The audit trail replaces the values of arguments by '[redacted]' if one of these is in the name, "
        "however it is written ('api_key' is in 'X-ApiKey'), at any depth.",
    )
    auto_confirm: bool | list[str] = Field(
        False,
        description="Destructive tools that run without asking: True for all, or a list of names.",
    )
    search_tools_above: int | None = Field(
        40,
        gt=0,
        description="With more tools than this, the model searches for one; None shows it all of them.",
    )
    on_disconnect: Literal["continue", "cancel"] = Field(
        "continue", description="What happens to a run whose client goes away."
    )
    limits: Limits = Field(default_factory=Limits, description="What one run may use at most.")
    run_timeout_seconds: float | None = Field(
        600.0, gt=0, description="Longest run; None is no limit."
    )
    model_timeout_seconds: float | None = Field(
        180.0,
        gt=0,
        description="Longest silence of a model, before its first word and after; None is its client's.",
    )
    max_output_bytes: int = Field(8 * 1024 * 1024, gt=0, description="Largest stream of one run.")
    max_concurrent_runs: int = Field(
        100, gt=0, description="Runs at once in one process; above it 503."
    )
    max_runs_per_user: int = Field(5, gt=0, description="Runs at once for one user; above it 429.")
    max_readers_per_user: int = Field(
        50, gt=0, description="Streams that one user reads at once in one process; above it 429."
    )
    throttle: Throttle = Field(
        default_factory=Throttle,
        description="How often runs may be asked for, counted in the cache; above it 429.",
    )
    max_body_bytes: int = Field(
        10 * 1024 * 1024, gt=0, description="Largest request body; above it 413."
    )
    history_messages: int | None = Field(
        200, gt=0, description="Most messages of a conversation that the model reads; None is all."
    )
    retention: Retention = Field(
        default_factory=Retention, description="What `manage.py prune_agent_data` deletes."
    )
    max_messages: int = Field(
        10_000, gt=0, description="Most messages in one request; above it 422."
    )
    max_tools: int = Field(
        500, gt=0, description="Most tools that a client may bring; above it 422."
    )
    client_instructions: Literal["drop", "use"] = Field(
        "drop",
        description="Whether a client's system and developer messages become instructions of the run.",
    )
    max_state_bytes: int = Field(
        256 * 1024,
        gt=0,
        description="Largest shared state that a client may send, as JSON; above it 422.",
    )
    max_context_chars: int = Field(
        20_000,
        ge=0,
        description="Most of what a page says of itself that the model reads; the rest is cut off.",
    )
    interrupt_expires_seconds: float | None = Field(
        86_400.0,
        gt=0,
        le=1e9,
        description="Life of an open approval or question; None is for ever.",
    )
    allowed_file_url_schemes: list[Literal["http", "https", "s3", "gs"]] = Field(
        ["http", "https"],
        description="Addresses of files that a client may hand to the model; [] is none. The provider opens s3 and gs "
        "with rights of yours.",
    )
    file_downloads: FileDownloads | None = Field(
        None,
        description="Lets the server download files that a client names by address; None is never.",
    )
    max_result_bytes: int = Field(
        1024 * 1024,
        ge=1000,
        description="Most of a tool's result that is kept and that the model reads.",
    )
    max_read_bytes: int = Field(
        4 * 1024 * 1024, gt=0, description="Largest file that a tool shows the model."
    )
    heartbeat_seconds: float = Field(
        15.0, gt=0, description="Silence after which a stream sends a comment."
    )
    delta_window_seconds: float = Field(
        0.04,
        ge=0,
        le=1,
        description="Deltas of a model that come faster than this are joined; 0 sends each alone.",
    )
    log_retention_seconds: float = Field(
        60.0, ge=0, description="How long the log of an ended run can be replayed."
    )
    max_kept_log_bytes: int = Field(
        64 * 1024 * 1024,
        ge=0,
        description="Logs of ended runs in one process, together; the oldest go first.",
    )
    redis_url: str | None = Field(
        None,
        description="Where the events of runs wait for readers of other processes; None is in memory.",
    )
    shutdown_seconds: float = Field(
        5.0,
        ge=0,
        description="How long runs may go on after SIGTERM; then they end as interrupted.",
    )
    tool_timeout_seconds: float | None = Field(
        None,
        gt=0,
        description="Longest call of a tool of the registry that has no timeout of its own; None is no limit.",
    )
    tool_threads: int = Field(
        8,
        gt=0,
        description="Threads that run synchronous tools; one user gets at most three quarters.",
    )
    database_threads: int = Field(
        4,
        gt=0,
        description="Threads, each with a connection, that conversations are read and written on.",
    )
    database_wait_seconds: float = Field(
        60.0, ge=0, description="How long a run waits for a database that is away, before it fails."
    )
    token_days: int | None = Field(
        90, gt=0, description="Life of a new API token; None is for ever."
    )
    include_usage: bool = Field(
        False, description="Tell clients the tokens used; it reveals provider and model."
    )
    send_reasoning: bool = Field(True, description="Stream the model's reasoning to clients.")

    @field_validator("redis_url")
    @classmethod
    def _is_a_redis(cls, url: str | None) -> str | None:
        if url is not None:
            try:
                from redis.asyncio import ConnectionPool

                ConnectionPool.from_url(url)
            except ImportError:
                raise ValueError("it needs the library: `make setup EXTRAS=redis`") from None
            except ValueError:  # It may quote a part of the password
                cure = "name a redis://, rediss:// or unix:// address, what is special in a password percent-encoded"
                raise ValueError(cure) from None
        return url

    @field_validator("agent_factory", "audit_logger", "conversation_store")
    @classmethod
    @by_import
    def _importable(cls, path: str | None) -> str | None:
        return None if path is None else imported(path)


def load(raw: Any = None, context: Any = None) -> EngineSettings:
    """Check the AGUI dictionary (by default that of settings.py), and import what it names by dotted paths.

    Raises ImproperlyConfigured, naming every wrong key and its cure.
    """
    raw = getattr(settings, "AGUI", {}) if raw is None else raw
    sections = {part.key: part.settings for part in parts.installed() if part.settings}
    model = _with_parts(tuple(sections.items()))
    if isinstance(raw, dict):
        raw = raw | {
            key: _from_environment(section, raw.get(key, {})) for key, section in sections.items()
        }
    try:
        return model.model_validate(raw, context=context)
    except ValidationError as error:
        raise ImproperlyConfigured(
            "\n".join(_sentence(item, model) for item in error.errors())
        ) from None


@lru_cache(maxsize=1)
def _with_parts(sections: tuple[tuple[str, type[_Section]], ...]) -> type[EngineSettings]:
    """Add the sections of the parts to the settings of the core."""
    fields: dict[str, Any] = {
        key.lower(): (
            one,
            Field(default_factory=one, description=(one.__doc__ or "").partition("\n")[0]),
        )
        for key, one in sections
    }
    return create_model(
        "EngineSettings", __base__=EngineSettings, __doc__=EngineSettings.__doc__, **fields
    )


def _from_environment(section: type[_Section], raw: Any) -> Any:
    """Complete a part's section with what variables of the environment say."""
    if is_testing() or not isinstance(raw, dict):
        return raw
    found: dict[str, Any] = {}
    for name, variable in section.environment.items():
        if value := os.environ.get(variable):
            annotation: Any = section.model_fields[name].annotation
            adapter: TypeAdapter[Any] = TypeAdapter(annotation)
            try:
                found[name.upper()] = adapter.validate_strings(value)
            except ValidationError:
                found[name.upper()] = value  # Refused with the others
    return found | raw


def mistake(problem: object, *keys: str) -> ImproperlyConfigured:
    """Make the error to raise for a setting that names what can't be used."""
    value: Any = get()
    for key in keys:
        value = getattr(value, key.lower())
    name = "AGUI" + "".join(f"[{key!r}]" for key in keys)
    return ImproperlyConfigured(f"{name} = {value!r}: {problem}.")


def _sentence(error: Any, model: type[_Section]) -> str:
    """Say which key is wrong and what would be right."""
    # A union reports its branches as further locations: they are not keys.
    unknown = error["type"] == "extra_forbidden"
    keys = [str(key) for key in error["loc"] if unknown or isinstance(key, int) or key.isupper()]
    name = "AGUI" + "".join(f"[{key}]" if key.isdigit() else f"[{key!r}]" for key in keys)
    has_secrets = keys[:1] == ["REDIS_URL"]  # The URL may hold a password
    for key in keys[:-1]:
        if (field := model.model_fields.get(key.lower())) and (
            below := _section_in(field.annotation)
        ):
            model = below
            has_secrets |= model.has_secrets
    if unknown:
        known = ", ".join(field.upper() for field in model.model_fields)
        return f"{name} is not a setting. Remove it, or use one of: {known}."
    given = "" if has_secrets else f" = {error['input']!r}"
    return f"{name}{given}: {error['msg'].removeprefix('Value error, ')}."


def _section_in(annotation: Any) -> type[_Section] | None:
    """Find the section in a field's annotation: in `Section | None`, or in `dict[str, Section]`."""
    if isinstance(annotation, type) and issubclass(annotation, _Section):
        return annotation
    return next((found for one in get_args(annotation) if (found := _section_in(one))), None)


def is_testing() -> bool:
    """Whether Django's test environment is set up: then .env counts for nothing here, and no connection is kept."""
    return hasattr(mail, "outbox")


@lru_cache(maxsize=1)
def get() -> EngineSettings:
    """The settings in force; what they name is not imported yet."""
    return load(context=WITHOUT_IMPORTS)


PartSettings = TypeVar("PartSettings", bound=_Section)


@cache
def part(section: type[PartSettings]) -> PartSettings:
    """The settings in force of a part. Raises LookupError for one that INSTALLED_APPS does not name."""
    settings = get()
    for name, field in type(settings).model_fields.items():
        if field.annotation is section:
            return cast(PartSettings, getattr(settings, name))
    raise LookupError(f"{section.__module__} belongs to a part that is not in INSTALLED_APPS")


def _forget(*, setting: str, **kwargs: Any) -> None:
    if setting in ("AGUI", "INSTALLED_APPS"):
        get.cache_clear()
        part.cache_clear()


setting_changed.connect(_forget)
