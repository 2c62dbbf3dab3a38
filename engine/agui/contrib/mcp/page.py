"""Our page for calls that wait: a person decides there, and the decision executes the call.

Reading changes nothing. A decision needs the session of the same user and the site's own form. An
API token is no person: a client that has one could approve what it asks for itself.
"""

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from asgiref.sync import sync_to_async
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.utils.translation import gettext as _
from django.utils.translation import npgettext

from agui import conf
from agui.actor import Actor
from agui.agents.endpoint import Endpoint
from agui.blocking.executor import in_database
from agui.contrib.mcp.conf import McpSettings
from agui.contrib.mcp.models import ClientQuestion
from agui.errors import BadRequest, Forbidden, NotFound, Unauthorized
from agui.http.auth import session_user
from agui.http.views import AgentView, DjangoAGUIView
from agui.lazy_import import LazyImport
from agui.tools.questions import display_value

if TYPE_CHECKING:
    from agui.contrib.mcp import approvals, call, caller, decided, edits, gate, sealing
else:
    # These modules need the library, which is an extra.
    approvals = LazyImport("agui.contrib.mcp.approvals")
    call = LazyImport("agui.contrib.mcp.call")
    caller = LazyImport("agui.contrib.mcp.caller")
    decided = LazyImport("agui.contrib.mcp.decided")
    edits = LazyImport("agui.contrib.mcp.edits")
    gate = LazyImport("agui.contrib.mcp.gate")
    sealing = LazyImport("agui.contrib.mcp.sealing")

MAX_FORM_BYTES = 1_000_000
MAX_SHOWN_CHARS = 5000
MAX_DECIDED = 20
SHOW_SECONDS = 8
"""How long the page waits for the result. A call that takes longer goes on."""
State = ClientQuestion.State


class PersonView(AgentView):
    """A page for the person whose account it is."""

    async def __call__(self, request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        response = await super().__call__(request, **kwargs)
        response.headers["Cache-Control"] = "no-store"
        response.headers["X-Frame-Options"] = "DENY"
        # With "no-referrer", browsers send no origin with a form, and Django refuses it.
        response.headers["Referrer-Policy"] = "same-origin"
        return response

    async def _check_and_respond(self, request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        try:
            return await super()._check_and_respond(request, **kwargs)
        except Unauthorized:
            # A person comes here by a link. A program gets the error.
            if request.headers.get("Sec-Fetch-Mode") != "navigate":
                raise
            return redirect_to_login(request.get_full_path())

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponseBase:
        if not self.is_on():
            raise NotFound("This agent has no such page.")
        if not await is_person(request):
            raise Forbidden("A person decides, in a browser in which they are signed in.")
        if actor.user.pk is None:
            raise Unauthorized
        return await self.answer(request, actor, **kwargs)

    def is_on(self) -> bool:
        return conf.part(McpSettings).endpoint

    async def answer(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponseBase:
        raise NotImplementedError


def strict_policy(*form_targets: str) -> str:
    """Return the policy of a page that grants access: the site's styles and images, no script.

    `form_targets` are where its forms may lead besides the site.
    """
    # Static files may have a host of their own.
    styles = urlsplit(static("agui/person-page.css"))
    files = f"'self' {styles.scheme}://{styles.netloc}" if styles.scheme else "'self'"
    # Browsers apply `form-action` to the redirect after a form, too.
    targets = " ".join(["'self'", *form_targets])
    return (
        f"default-src 'none'; style-src {files}; img-src {files} data:; font-src {files}; "
        f"base-uri 'none'; frame-ancestors 'none'; form-action {targets}"
    )


async def is_person(request: HttpRequest) -> bool:
    """Whether a browser sends the request. Basic credentials may be those of a proxy before us."""
    scheme = request.headers.get("Authorization", "").partition(" ")[0].lower()
    return not scheme or (scheme == "basic" and await session_user(request) is not None)


class ApprovalsPage(PersonView):
    """GET what waits for the user, and what was decided lately. As JSON, how much waits."""

    async def answer(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponseBase:
        if request.get_preferred_type(["text/html", "application/json"]) == "application/json":
            return JsonResponse(await in_database(_count, actor, request.path))
        rows = await in_database(_rows, actor)
        base = request.path.rstrip("/") + "/"
        context = {"waiting": rows[0], "decided": rows[1], "base": base}
        return await sync_to_async(render)(request, "agui_mcp/approvals.html", context)


def _rows(actor: Actor) -> tuple[list[Any], list[ClientQuestion]]:
    waiting = list(approvals.waiting(actor))
    others = approvals.of_owner(actor).exclude(pk__in=[row.pk for row in waiting])
    return [(row, _client_of(row)) for row in waiting], list(others[:MAX_DECIDED])


def _client_of(question: ClientQuestion) -> str:
    """Return the client's own name for itself, in quotation marks: it can say anything."""
    return display_value(question.client) if question.client else ""


def _count(actor: Actor, path: str) -> dict[str, Any]:
    number = approvals.waiting(actor).count()
    words = npgettext(
        "agui",
        "{number} call of another app waits for your approval.",
        "{number} calls of other apps wait for your approval.",
        number,
    )
    return {"count": number, "text": words.format(number=number), "url": path}


class ApprovalPage(PersonView):
    """GET one call that waits, and POST the decision: `do` is `approve` or `deny`."""

    methods = frozenset({"GET", "POST"})

    def __init__(self, endpoint: Endpoint, **access: Any) -> None:
        super().__init__(**access)
        self.endpoint = endpoint

    @classmethod
    def mounted(cls, view: DjangoAGUIView) -> Self:
        return cls(view.endpoint, **view.access)

    @cached_property
    def gate(self) -> "gate.Gate":
        return gate.Gate(self.endpoint, self.endpoint.registry)

    def max_body_bytes(self) -> int:
        return MAX_FORM_BYTES

    async def answer(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponseBase:
        mine = approvals.of_owner(actor).filter(pk=kwargs["approval_id"])
        question = await in_database(mine.first)
        if question is None:
            # Another user's id is what any unknown one is.
            context = {"user": actor.user}
            return await sync_to_async(render)(
                request, "agui_mcp/approval.html", context, status=404
            )
        if request.method != "POST":
            return await self._show(request, question)
        return await self._decide(request, actor, question)

    async def _decide(
        self, request: HttpRequest, actor: Actor, question: ClientQuestion
    ) -> HttpResponseBase:
        form = await sync_to_async(lambda: request.POST)()
        do = form.get("do")
        if do not in ("approve", "deny"):
            raise BadRequest("do is approve or deny.")
        is_as_shown = form.get("shown") == approvals.version_of(question)
        if question.state_now != State.PENDING or not is_as_shown:
            notice = _("This has changed meanwhile. Nothing was done now.")
            return await self._show(request, question, 409, notice=notice)
        try:
            arguments = approvals.arguments_of(question)
            edited = self._edited(question, arguments, form) if do == "approve" else None
        except sealing.Unreadable:
            return await self._show(request, question, 409)
        except edits.Misfits as misfits:
            return await self._show(request, question, 422, fields=misfits.fields)
        decision = call.Decision(question, do == "approve", edited, form.get("reason", ""))
        client = caller.Caller(actor, request, client=question.client)
        made = call.Request(client, question.tool_name, arguments, decision=decision)
        try:
            # The call itself goes on after this.
            await asyncio.wait_for(self.gate.call(made), SHOW_SECONDS)
        except TimeoutError:
            pass
        except call.Unknown:
            await decided.give_up(question)
        except call.Refused as refusal:
            await in_database(question.refresh_from_db)
            return await self._show(request, question, 409, notice=str(refusal))
        return HttpResponse(status=303, headers={"Location": request.get_full_path()})

    def _edited(
        self, question: ClientQuestion, arguments: dict[str, Any], form: Any
    ) -> dict[str, Any] | None:
        """Read the arguments of the form. Raises Misfits."""
        if question.tool_name not in self.endpoint.registry:
            return None
        binding = self.endpoint.registry.get(question.tool_name)
        fields = edits.fields_of(binding, arguments, question.form["editable"])
        return edits.edited_arguments(binding, fields, arguments, form)

    async def _show(
        self, request: HttpRequest, question: ClientQuestion, status: int = 200, **context: Any
    ) -> HttpResponse:
        state = question.state_now
        context |= {
            "user": request.user,
            "question": question,
            "state": state,
            "client": _client_of(question),
            "list_url": request.path.rstrip("/").rpartition("/")[0] + "/",
            "shown": approvals.version_of(question),
            "is_at_work": state == State.EXECUTING and not question.is_lost,
        }
        try:
            if state == State.PENDING and "fields" not in context:
                context["fields"] = self._fields(question)
            if question.result:
                context["result"] = approvals.words_of_result(question)[:MAX_SHOWN_CHARS]
        except sealing.Unreadable:
            context["is_unreadable"] = True
        return await sync_to_async(render)(
            request, "agui_mcp/approval.html", context, status=status
        )

    def _fields(self, question: ClientQuestion) -> "list[edits.Field]":
        arguments = approvals.arguments_of(question)
        if question.tool_name not in self.endpoint.registry:
            return []
        binding = self.endpoint.registry.get(question.tool_name)
        return edits.fields_of(binding, arguments, question.form["editable"])
