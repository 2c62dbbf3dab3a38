"""How a question about a call reaches the user: by a form, by a link, or by words for the model.

A form proves only that the client says yes. So a destructive call is decided on our page, unless
AGUI["MCP"]["DESTRUCTIVE_BY_FORM"] is on. A client without forms gets the address of the page: as a
link that it opens for its user, if it has declared that, and otherwise in the text of a result.
"""

from mcp.shared.exceptions import UrlElicitationRequiredError
from pydantic_ai import ApprovalRequired, CallDeferred
from pydantic_ai.tools import ToolDefinition

from agui import conf
from agui.blocking.executor import in_database
from agui.contrib.mcp import approvals, forms, status
from agui.contrib.mcp.call import UNANSWERABLE, Call, Ended, Reply, Request, Waiting, find
from agui.contrib.mcp.caller import Caller
from agui.contrib.mcp.conf import McpSettings
from agui.contrib.mcp.links import has_page, input_required, link_request
from agui.contrib.mcp.models import ClientQuestion
from agui.tools.definitions import describe, has_own_words
from agui.tools.schema import X_DESTRUCTIVE_KEY


def by_form(caller: Caller, *, destructive: bool) -> bool:
    """Whether a client's form may approve a call."""
    if not caller.fills_forms:
        return False
    return caller.is_page or not destructive or conf.part(McpSettings).destructive_by_form


def can_approve(caller: Caller, destructive: bool) -> bool:
    """Whether there is a way to ask this client's user for approval."""
    if by_form(caller, destructive=destructive):
        return True
    # The page knows its users by their account.
    return caller.actor.user.pk is not None and has_page(caller)


def may_wait(caller: Caller, tool_def: ToolDefinition, destructive: bool) -> bool:
    """Whether a tool's first result may be that it waits for the page."""
    return tool_def.kind == "unapproved" and not by_form(caller, destructive=destructive)


def own_words_of(tool_def: ToolDefinition, wish: ApprovalRequired) -> bool:
    """Whether the question of an approval was made from the arguments."""
    return has_own_words(describe(tool_def), wish.metadata or {})


async def read_answer(call: Call, request: Request) -> forms.Answer | Reply | None:
    """Read what a call of a client of 2026 brings, with the state of an earlier one.

    Returns None if it brings nothing. Raises MCPError for a state that counts no more.
    """
    if not request.params or not request.params.request_state:
        return None
    question = await find(request.params.request_state, call.caller)
    if question is None:
        raise forms.stale()
    if question.arguments:
        # "Accept" means that the page was opened. What was decided there is in the row.
        if question.call != call.digest:
            return None
        return await _tell(question, call)
    answer = await forms.read_answer(question, call, request.params)
    if isinstance(answer, ClientQuestion):
        return forms.input_required(answer)
    return answer


async def ask(
    call: Call, wish: ApprovalRequired | CallDeferred, request: Request, tool_def: ToolDefinition
) -> forms.Answer | Reply:
    """Ask the user in the best way that the client has."""
    caller = call.caller
    metadata = {**describe(tool_def), **(wish.metadata or {})}
    # An answer to a question of the tool itself approves nothing.
    destroys = isinstance(wish, ApprovalRequired) and bool(metadata.get(X_DESTRUCTIVE_KEY))
    if by_form(caller, destructive=destroys):
        question = await forms.open_form(call, wish)
        if question and caller.stream is None:
            return forms.input_required(question)
        if question:
            answer = await forms.ask_on_stream(caller, question)
            return answer or Ended("failed", UNANSWERABLE)
    if not isinstance(wish, ApprovalRequired) or not can_approve(caller, destroys):
        return Ended("failed", UNANSWERABLE)
    return await _ask_on_page(call, wish, request, tool_def)


async def _ask_on_page(
    call: Call, wish: ApprovalRequired, request: Request, tool_def: ToolDefinition
) -> Reply:
    own_words = own_words_of(tool_def, wish)
    try:
        question = await in_database(lambda: approvals.open_call(call, wish, own_words=own_words))
    except approvals.NotOpened as refusal:
        return Ended("failed", str(refusal))
    if question.state_now == approvals.State.PENDING and request.links:
        asked = link_request(question, call.caller)
        if request.links == "error":
            raise UrlElicitationRequiredError([asked], status.waits(question, call.caller))
        return input_required(question, asked)
    return await _tell(question, call)


async def _tell(question: ClientQuestion, call: Call) -> Reply:
    words = await status.tell(question, call.caller, call)
    if question.is_open:
        return Waiting(question, words)
    return words
