"""Permissions of tools, their visibility to the model, and the question before a call."""

import inspect
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

from django.contrib.auth import get_user_model
from pydantic_ai import ApprovalRequired, RunContext
from pydantic_ai.tools import ToolDefinition, ToolPrepareFunc

from agui import conf
from agui.blocking.executor import in_database, release_connections, run_in_thread
from agui.blocking.patience import wait_for_database
from agui.deps import AgentDeps
from agui.tools.schema import (
    PARAMETERS_KEY,
    X_CONFIRM_KEY,
    X_DESTRUCTIVE_KEY,
    X_SUMMARY_KEY,
    ToolSpec,
    x_keys,
)

logger = logging.getLogger("agui.tools")


def is_gated(spec: ToolSpec) -> bool:
    """Whether the tool asks for approval unless the settings exempt it."""
    return spec.destructive or spec.requires_approval


def needs_confirmation(spec: ToolSpec) -> bool:
    """Whether the user must approve each call of this tool, as the settings are now."""
    if not is_gated(spec):
        return False
    exempt = conf.get().auto_confirm
    if isinstance(exempt, bool):
        return not exempt
    return spec.name not in exempt


def confirmation_metadata(spec: ToolSpec) -> dict[str, Any]:
    """Describe the tool to the client, in an interrupt."""
    named = {"toolName": spec.name, X_DESTRUCTIVE_KEY: spec.destructive}
    return {**named, **x_keys(spec), X_SUMMARY_KEY: spec.label}


async def is_permitted(spec: ToolSpec, user: Any, *, afresh: bool = False) -> bool:
    """Whether this user may call the tool.

    A user object remembers its permissions; `afresh` asks the database.
    """
    if spec.permission is None:
        return True
    if user is None or not user.is_authenticated:
        return False
    return await wait_for_database(partial(_has_permission, user, spec.permission, afresh=afresh))


async def _has_permission(user: Any, permission: str, *, afresh: bool) -> bool:
    try:
        if afresh:
            user = await get_user_model()._default_manager.filter(pk=user.pk).afirst()
        if hasattr(user, "ahas_perm"):
            return await user.ahas_perm(permission)
        # A user model of the project may have no permissions, or has_perm alone.
        has_perm = getattr(user, "has_perm", None)
        return has_perm is not None and await in_database(has_perm, permission)
    finally:
        await release_connections()


def build_prepare(spec: ToolSpec) -> ToolPrepareFunc[AgentDeps] | None:
    """Build what pydantic-ai asks before each request; None for a tool that never changes."""
    if not (is_gated(spec) or spec.permission or spec.prepare):
        return None

    async def prepare(
        ctx: RunContext[AgentDeps], definition: ToolDefinition
    ) -> ToolDefinition | None:
        if not await is_permitted(spec, getattr(ctx.deps, "user", None)):
            return None
        if spec.prepare is not None:
            prepared = await _prepare(spec, spec.prepare, ctx, definition)
            if prepared is None:
                return None
            definition = prepared
        if needs_confirmation(spec):
            return replace(definition, kind="unapproved")
        if is_gated(spec):
            return replace(definition, kind="function")
        return definition

    return prepare


async def _prepare(
    spec: ToolSpec,
    author: Callable[..., Any],
    ctx: RunContext[AgentDeps],
    definition: ToolDefinition,
) -> ToolDefinition | None:
    """Call the author's function. If it fails, the tool is hidden and the run goes on."""
    try:
        prepared = await call_async(author, ctx, definition)
        if prepared is None:
            return None
        return replace(prepared, name=definition.name)
    except Exception:
        logger.exception("Leaving out tool %r: its prepare= failed", spec.name)
        return None


async def call_async(author: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call an author's function: in a thread if it may block, as it may query the database."""
    if inspect.iscoroutinefunction(author):
        return await author(*arguments, **named)
    return await run_in_thread(partial(author, *arguments, **named))


def build_question(spec: ToolSpec, parameters: dict[str, Any]) -> Callable[..., Awaitable[None]]:
    """Build what asks for approval, once the arguments are known to be valid."""

    async def ask(ctx: RunContext[AgentDeps], /, **arguments: Any) -> None:
        if not needs_confirmation(spec) or ctx.tool_call_approved:
            return
        metadata = {**confirmation_metadata(spec), PARAMETERS_KEY: parameters}
        if callable(spec.confirm):
            metadata[X_CONFIRM_KEY] = await call_async(spec.confirm, ctx, **arguments)
        raise ApprovalRequired(metadata)

    return ask
