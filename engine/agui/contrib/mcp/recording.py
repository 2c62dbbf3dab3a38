"""The record of a call that has ended: the audit trail, and what it has used of models."""

import logging

from pydantic_ai.messages import ToolReturnPart

from agui import parts
from agui.actor import Actor
from agui.agents.endpoint import Endpoint
from agui.agents.llm import name_of
from agui.blocking.executor import in_database
from agui.contrib.mcp.call import Context, Ended, Request
from agui.tools.audit import record_event, resolve_audit_logger
from agui.tools.timer import ToolCallTimer

logger = logging.getLogger("agui.mcp")


async def record_call(
    endpoint: Endpoint, request: Request, context: Context, timer: ToolCallTimer, ended: Ended
) -> None:
    """Record a call in the audit trail."""
    call_id = context.tool_call_id or ""
    returned = ToolReturnPart(
        request.name, ended.content, tool_call_id=call_id, outcome=ended.outcome
    )
    event = timer.stop(returned)
    if event:
        await record_event(resolve_audit_logger(endpoint.config.audit_logger), event)


async def record_usage(actor: Actor, context: Context) -> None:
    """Let the parts record what the tool has used of models with `ctx.usage`."""
    if not context.usage.has_values():
        return
    model = name_of(context.model)

    def record() -> None:
        for part in parts.installed():
            part.models_used(actor, model, context.usage)

    try:
        await in_database(record)
    except Exception:
        logger.exception("Recording the model usage of tool %r failed", context.tool_name)
