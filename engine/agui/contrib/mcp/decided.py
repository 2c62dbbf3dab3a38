"""What the user has decided on our page, before and after its call is executed."""

from typing import Any

from django.contrib.auth import get_user_model
from django.utils.translation import gettext as _
from mcp.types import CallToolResult
from pydantic_ai import ApprovalRequired
from pydantic_ai.tools import ToolDefinition

from agui.actor import Actor
from agui.blocking.executor import in_database
from agui.contrib.mcp import approvals, asking, status
from agui.contrib.mcp.approvals import State
from agui.contrib.mcp.call import Call, Decision, Ended, Refused
from agui.contrib.mcp.models import ClientQuestion
from agui.contrib.mcp.results import call_result
from agui.tools.questions import one_line

MAX_REASON_CHARS = 2000
DENIED = "The user denied this. Nothing was done."
DENIED_BECAUSE = "The user denied this. Nothing was done. Their reason: {}"
NOT_ALLOWED = "The user is not allowed to do this any more. Nothing was done."
CHANGED = "The tool has changed since the user was asked. Nothing was done. Call it again."
GONE = "This tool no longer exists. Nothing was done."
WITHDRAWN = "The client cancelled this before the user decided. Nothing was done."
AGAIN = "The question has changed with the arguments. Nothing was done."
STATES = {"success": State.DONE, "failed": State.FAILED, "denied": State.DENIED}


async def begin(decision: Decision) -> None:
    """Claim the call, so that no other decision counts. Raises Refused."""
    if not await in_database(approvals.claim, decision.question):
        raise Refused(_("This has changed meanwhile. Nothing was done now."))


async def refusal_of(decision: Decision, actor: Actor) -> Ended | None:
    """Return why a decision executes nothing; None if it does."""
    if decision.is_withdrawn:
        return Ended("denied", WITHDRAWN)
    if not decision.approved:
        reason = one_line(decision.reason, MAX_REASON_CHARS)
        return Ended("denied", DENIED_BECAUSE.format(reason) if reason else DENIED)
    if not await in_database(_is_active, actor.user.pk):
        return Ended("denied", NOT_ALLOWED)
    return None


def _is_active(pk: Any) -> bool:
    user = get_user_model()._default_manager.filter(pk=pk).first()
    return user is not None and user.is_active


async def ask_again(
    question: ClientQuestion, call: Call, wish: ApprovalRequired, tool_def: ToolDefinition
) -> CallToolResult:
    """Let the call wait again: the user has changed what its question was made from."""
    own_words = asking.own_words_of(tool_def, wish)
    await in_database(lambda: approvals.ask_again(question, call, wish, own_words=own_words))
    return status.said(AGAIN)


async def keep(question: ClientQuestion, ended: Ended, schema: dict[str, Any] | None) -> None:
    """Keep the result of a call for its client, which may ask for it later."""
    result = call_result(ended.content, is_error=ended.outcome != "success", schema=schema)
    stored = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    await in_database(approvals.finish, question, STATES[ended.outcome], stored)


async def give_up(question: ClientQuestion) -> None:
    """End a call whose tool is gone."""
    if await in_database(approvals.claim, question):
        await keep(question, Ended("denied", GONE), None)
