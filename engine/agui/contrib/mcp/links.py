"""The address of our page, and the clients that open it for their user."""

from contextlib import suppress
from typing import Any

from django.urls import NoReverseMatch, reverse
from mcp import types

from agui.contrib.mcp import handshake
from agui.contrib.mcp.call import LinkMode
from agui.contrib.mcp.caller import Caller
from agui.contrib.mcp.models import ClientQuestion
from agui.namespaces import mounted_agents, split_scope


def link_mode(caller: Caller, session: Any) -> LinkMode | None:
    """Return how a client takes the address of a page; None if it has not declared that."""
    capabilities = session.client_capabilities
    if capabilities is not None:
        return "result" if handshake.opens_links(capabilities) else None
    told = handshake.read(caller.request.headers.get(handshake.SESSION_HEADER), caller.actor)
    return "error" if told.opens_links else None


def has_page(caller: Caller) -> bool:
    """Whether the project has mounted the page for this agent."""
    return bool(_address(caller, caller.actor.scope, "mcp-approvals"))


def page_of(question: ClientQuestion, caller: Caller) -> str:
    """Return the address of a call on our page. It has nothing but an id."""
    return _address(caller, question.scope, "mcp-approval", approval_id=question.pk)


def _address(caller: Caller, scope: str, route: str, **parameters: Any) -> str:
    namespace, _ = split_scope(scope)
    for name, mounted in mounted_agents().items():
        if mounted == namespace:
            with suppress(NoReverseMatch):
                path = reverse(f"{name}:{route}", kwargs=parameters)
                return caller.request.build_absolute_uri(path)
    return ""


def link_request(question: ClientQuestion, caller: Caller) -> types.ElicitRequestURLParams:
    return types.ElicitRequestURLParams(
        message=question.form["question"],
        url=page_of(question, caller),
        elicitation_id=str(question.pk),
    )


def input_required(
    question: ClientQuestion, asked: types.ElicitRequestURLParams
) -> types.InputRequiredResult:
    """Return the link as the result of a call, for a client of 2026."""
    request = types.ElicitRequest(params=asked.model_copy(update={"elicitation_id": None}))
    return types.InputRequiredResult(
        input_requests={question.kind: request}, request_state=str(question.pk)
    )
