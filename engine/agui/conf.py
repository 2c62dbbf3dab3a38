"""The engine's settings: the AGUI dictionary of settings.py, with defaults, checked at every depth.

    from agui import conf
    conf.get().heartbeat_seconds

The field `heartbeat_seconds` is the key "HEARTBEAT_SECONDS". Settings are read on first use, so
`override_settings` works in tests. apps.py reads them at start-up, so a mistake stops each command.
What a setting names by dotted path is imported later (agents/discovery.py), so a mistake there
stops the server and `manage.py check --deploy`.
"""

from functools import cache, lru_cache
from typing import Any, Literal, TypeVar, cast

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from pydantic import Field, ValidationError, create_model, field_validator

from agui import parts
from agui.conf_sections import (
    SECRET_NAMES,
    WITHOUT_IMPORTS,
    Limits,
    Retention,
    Section,
    Throttle,
    by_import,
    explain,
    imported,
    imported_variable,
)


class EngineSettings(Section):
    """Every key of AGUI, with its default."""

    agent_factory: str | None = Field(
        None, description="Dotted path of a function that builds the whole agent."
    )
    conversation_model: str = Field(
        "assistant.Conversation",
        description="The project's model of conversations, a subclass of `AbstractConversation`, "
        "as app.Model. It can't be changed once there are conversations.",
    )
    conversation_store: str = Field(
        "agui.stores.model.ModelConversationStore",
        description="Dotted path of the class that stores conversations.",
    )
    audit_logger: str = Field(
        "agui.tools.audit.ModelAuditLogger",
        description="Dotted path of the class that records tool calls.",
    )
    tenant: str | None = Field(
        None, description="Dotted path of the context variable with the tenant, if each has tables."
    )
    audit_redact: list[str] = Field(
        SECRET_NAMES,
        description="If one of these words is in the name of an argument, the audit trail "
        "replaces its value by '[redacted]', however the name is written ('api_key' is in "
        "'X-ApiKey') and at any depth.",
    )
    auto_confirm: bool | list[str] = Field(
        False,
        description="Destructive tools that run without asking: True for all, or a list of names.",
    )
    search_tools_above: int | None = Field(
        40,
        gt=0,
        description="With more tools than this, the model searches for one; with None it sees all.",
    )
    on_disconnect: Literal["continue", "cancel"] = Field(
        "continue", description="Whether a run continues if its client disconnects."
    )
    limits: Limits = Field(default_factory=Limits, description="How much one run may use.")
    run_timeout_seconds: float | None = Field(
        600.0, gt=0, description="Longest run; None means no limit."
    )
    model_timeout_seconds: float | None = Field(
        180.0,
        gt=0,
        description="Longest silence of a model; None leaves the limit to the model's client.",
    )
    max_output_bytes: int = Field(8 * 1024 * 1024, gt=0, description="Largest stream of one run.")
    max_response_bytes: int = Field(
        64 * 1024 * 1024,
        gt=0,
        description="Largest response of a model's provider, as it comes over the network; a "
        "larger one ends the run with `output_limit`. Bedrock's and Mistral's clients are not "
        "counted.",
    )
    max_concurrent_runs: int = Field(
        100, gt=0, description="Most runs at once in one process; more get 503."
    )
    max_runs_per_user: int = Field(
        5, gt=0, description="Most runs at once for one user; more get 429."
    )
    max_readers_per_user: int = Field(
        50, gt=0, description="Most streams of one user at once in one process; more get 429."
    )
    throttle: Throttle = Field(
        default_factory=Throttle,
        description="How often users may start a run, counted in the cache; more get 429.",
    )
    max_body_bytes: int = Field(
        10 * 1024 * 1024, gt=0, description="Largest request body; a larger one gets 413."
    )
    max_site_body_bytes: int | None = Field(
        100 * 1024 * 1024,
        gt=0,
        description="Largest body for a path that is no agent's, as for your own uploads; a larger "
        "one gets 413. Without a cookie or a token, DATA_UPLOAD_MAX_MEMORY_SIZE applies.",
    )
    history_messages: int | None = Field(
        200,
        gt=0,
        description="Most messages of a conversation that the model reads; None means all.",
    )
    retention: Retention = Field(
        default_factory=Retention, description="How long `manage.py prune_agent_data` keeps data."
    )
    max_messages: int = Field(
        10_000, gt=0, description="Most messages in one request; more get 422."
    )
    max_tools: int = Field(
        500, gt=0, description="Most tools that a client may send; more get 422."
    )
    client_instructions: Literal["drop", "use"] = Field(
        "drop", description="Whether a client's system and developer messages instruct the model."
    )
    max_state_bytes: int = Field(
        256 * 1024,
        gt=0,
        description="Largest shared state that a client may send, as JSON; a larger one gets 422.",
    )
    max_context_chars: int = Field(
        20_000,
        ge=0,
        description="Most of a page's context that the model reads; the engine cuts off the rest.",
    )
    interrupt_expires_seconds: float | None = Field(
        86_400.0,
        gt=0,
        le=1e9,
        description="How long the user can answer a question; None means for ever.",
    )
    allowed_file_url_schemes: list[Literal["http", "https", "s3", "gs"]] = Field(
        ["http", "https"],
        description="The addresses of files that a client may send to the model; [] allows none. "
        "The provider opens s3 and gs with rights of yours.",
    )
    max_result_bytes: int = Field(
        1024 * 1024,
        ge=1000,
        description="Most of a tool's result that the model reads and the thread keeps.",
    )
    max_read_bytes: int = Field(
        4 * 1024 * 1024, gt=0, description="Largest file that a tool may show to the model."
    )
    heartbeat_seconds: float = Field(
        15.0, gt=0, description="Silence after which a stream sends a comment."
    )
    delta_window_seconds: float = Field(
        0.01,
        ge=0,
        le=1,
        description="The engine joins a model's deltas that come faster; 0 sends each one alone.",
    )
    log_retention_seconds: float = Field(
        60.0, ge=0, description="How long clients can read the log of a run after its end."
    )
    max_kept_log_bytes: int = Field(
        64 * 1024 * 1024,
        ge=0,
        description="Size of all logs of ended runs in one process; the oldest go first.",
    )
    shutdown_seconds: float = Field(
        5.0,
        ge=0,
        description="How long runs may go on after SIGTERM, before they end as interrupted.",
    )
    tool_timeout_seconds: float | None = Field(
        None, gt=0, description="Longest call of a tool without its own timeout; None: no limit."
    )
    tool_threads: int = Field(
        8, gt=0, description="Threads for synchronous tools; one user gets at most three quarters."
    )
    database_threads: int = Field(
        4, gt=0, description="Threads, each with a connection, that read and write conversations."
    )
    database_wait_seconds: float = Field(
        60.0, ge=0, description="How long a run waits for an unreachable database before it fails."
    )
    token_days: int | None = Field(
        90, gt=0, description="How long a new API token is valid; None means for ever."
    )
    include_usage: bool = Field(
        False, description="Sends used tokens to clients; this reveals the provider and the model."
    )
    send_reasoning: bool = Field(True, description="Streams the model's reasoning to clients.")
    read_environment: bool = Field(
        True, description="Whether variables of the environment complete the sections of parts."
    )

    @field_validator("agent_factory", "audit_logger", "conversation_store")
    @classmethod
    @by_import
    def _importable(cls, path: str | None) -> str | None:
        return None if path is None else imported(path)

    @field_validator("tenant")
    @classmethod
    @by_import
    def _is_variable(cls, path: str | None) -> str | None:
        return path and imported_variable(path)


def load(raw: Any = None, context: Any = None) -> EngineSettings:
    """Check the AGUI dictionary, by default that of settings.py, and import what it names.

    Raises ImproperlyConfigured, which names every wrong key and its cure.
    """
    if raw is None:
        raw = getattr(settings, "AGUI", {})
    sections = {part.key: part.settings for part in parts.installed() if part.settings}
    model = _with_parts(tuple(sections.items()))
    if isinstance(raw, dict) and raw.get("READ_ENVIRONMENT", True):
        raw = _with_environment(raw, sections)
    try:
        return model.model_validate(raw, context=context)
    except ValidationError as error:
        problems = [explain(item, model) for item in error.errors()]
        raise ImproperlyConfigured("\n".join(problems)) from None


@lru_cache(maxsize=1)
def _with_parts(sections: tuple[tuple[str, type[Section]], ...]) -> type[EngineSettings]:
    """Add the sections of the parts to the settings of the core."""
    fields: dict[str, Any] = {}
    for key, section in sections:
        summary, _, _ = (section.__doc__ or "").partition("\n")
        fields[key.lower()] = (section, Field(default_factory=section, description=summary))
    return create_model(
        "EngineSettings", __base__=EngineSettings, __doc__=EngineSettings.__doc__, **fields
    )


def _with_environment(raw: dict[str, Any], sections: dict[str, type[Section]]) -> dict[str, Any]:
    """Complete the sections of parts by variables of the environment. AGUI's own keys win."""
    complete = dict(raw)
    for key, section in sections.items():
        values = raw.get(key, {})
        if isinstance(values, dict):
            complete[key] = section.collect_environment() | values
    return complete


def mistake(problem: object, *keys: str) -> ImproperlyConfigured:
    """Make the error for a setting whose value can't be used."""
    value: Any = get()
    for key in keys:
        value = getattr(value, key.lower())
    name = "AGUI" + "".join(f"[{key!r}]" for key in keys)
    return ImproperlyConfigured(f"{name} = {value!r}: {problem}.")


def agent_model() -> Any:
    """Return which model answers. A project that names none gets the offline demo model."""
    return getattr(settings, "AGENT_MODEL", "demo")


@lru_cache(maxsize=1)
def get() -> EngineSettings:
    """Return the active settings. What they name is not imported yet."""
    return load(context=WITHOUT_IMPORTS)


PartSettings = TypeVar("PartSettings", bound=Section)


@cache
def part(section: type[PartSettings]) -> PartSettings:
    """Return the active settings of a part. Raises LookupError if it is not in INSTALLED_APPS."""
    settings = get()
    for name, field in type(settings).model_fields.items():
        if field.annotation is section:
            return cast(PartSettings, getattr(settings, name))
    raise LookupError(f"{section.__module__} belongs to a part that is not in INSTALLED_APPS")


def _forget(*, setting: str, **kwargs: Any) -> None:
    if setting in ("AGUI", "INSTALLED_APPS"):
        get.cache_clear()
        part.cache_clear()
        parts.installed.cache_clear()
        parts.implementing.cache_clear()


setting_changed.connect(_forget)
