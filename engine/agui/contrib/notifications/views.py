"""What users choose, for clients as JSON and for people as a page, and a test of their webhook."""

from typing import Any
from uuid import uuid4

from asgiref.sync import sync_to_async
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

from agui import conf
from agui.actor import Actor
from agui.blocking.executor import in_database
from agui.contrib.notifications import choices, webhook
from agui.contrib.notifications.conf import NotificationsSettings
from agui.contrib.notifications.models import NotificationChoice
from agui.contrib.notifications.receivers import NotSent
from agui.errors import BadRequest, HttpError, NotFound, Unauthorized, Unprocessable
from agui.http.bodies import read_object
from agui.http.throttle import throttle_action
from agui.http.views import AgentView

TESTS = "5/minute"
REFUSED = _("Webhooks may not be sent to this address.")


class ChoiceView(AgentView):
    """A view of one user's choice, which visitors without an account don't have."""

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponseBase:
        if not conf.part(NotificationsSettings).is_on:
            raise NotFound("Nobody is notified by this project.")
        if actor.user.pk is None:
            raise Unauthorized
        return await self.answer(request, actor)

    async def answer(self, request: HttpRequest, actor: Actor) -> HttpResponseBase:
        raise NotImplementedError


class NotificationsView(ChoiceView):
    """GET how the user is told, and PATCH it: `mail`, `webhook` (or null), `new_secret`."""

    methods = frozenset({"GET", "PATCH"})

    async def answer(self, request: HttpRequest, actor: Actor) -> HttpResponse:
        if request.method != "PATCH":
            choice = await in_database(choices.choice_of, actor.user.pk)
            return JsonResponse(to_json(choice, actor))
        changes = read_changes(read_object(request))
        try:
            choice, secret = await in_database(lambda: choices.change(actor.user.pk, **changes))
        except NotSent as refusal:
            raise Unprocessable(REFUSED, reason=refusal.code) from None
        shown = {"secret": secret} if secret else {}
        return JsonResponse({**to_json(choice, actor), **shown})


def read_changes(body: dict[str, Any]) -> dict[str, Any]:
    """Read the body of a PATCH. Raises BadRequest."""
    changes: dict[str, Any] = {}
    for name in ("mail", "new_secret"):
        if name in body:
            changes[name] = body[name]
            if not isinstance(body[name], bool):
                raise BadRequest(f"{name} is true or false.")
    if "webhook" in body:
        changes["address"] = "" if body["webhook"] is None else body["webhook"]
        if not isinstance(changes["address"], str):
            raise BadRequest("webhook is an address, or null.")
    return changes


def to_json(choice: NotificationChoice, actor: Actor) -> dict[str, Any]:
    """Describe a choice: null for what the project does not offer."""
    settings = conf.part(NotificationsSettings)
    mail = None
    if settings.mail != "off":
        mail = {"on": choice.mail, "address": address_of(actor.user)}
    receiver = None
    if settings.webhook_hosts:
        receiver = {
            "address": choice.webhook or None,
            "is_gone": choice.webhook_gone_at is not None,
            "hosts": settings.webhook_hosts,
        }
    return {"mail": mail, "webhook": receiver}


def address_of(user: Any) -> str:
    return getattr(user, user.get_email_field_name(), "") or ""


class WebhookTestView(ChoiceView):
    """POST to send a test to the user's webhook: `{"error": null}`, or a word why it failed."""

    methods = frozenset({"POST"})

    async def answer(self, request: HttpRequest, actor: Actor) -> HttpResponse:
        return JsonResponse({"error": await send_test(actor)})


async def send_test(actor: Actor) -> str | None:
    """Send a `webhook.ping`; returns the reason if that failed. Raises NotFound."""
    await throttle_action("webhook-test", actor, TESTS)
    choice = await in_database(choices.choice_of, actor.user.pk)
    if not choice.webhook:
        raise NotFound(_("There is no webhook."))
    body = webhook.ping()
    headers = webhook.headers_of(str(uuid4()), body, choice.user_id, choice.webhook_seed)
    try:
        await webhook.post(choice.webhook, headers, body)
    except NotSent as failure:
        return failure.code
    return None


class ChoicesPage(ChoiceView):
    """The page on which a person chooses. It works without JavaScript."""

    methods = frozenset({"GET", "POST"})

    async def _check_and_respond(self, request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        try:
            return await super()._check_and_respond(request, **kwargs)
        except Unauthorized:
            # A person comes here by a link in a mail. A program gets the error.
            if request.headers.get("Sec-Fetch-Mode") != "navigate":
                raise
            return redirect_to_login(request.get_full_path())

    async def answer(self, request: HttpRequest, actor: Actor) -> HttpResponse:
        context: dict[str, Any] = {}
        if request.method == "POST":
            context = await self._change(request, actor)
        choice = context.get("choice") or await in_database(choices.choice_of, actor.user.pk)
        context |= {"choice": choice, "address": address_of(actor.user)}
        return await sync_to_async(self._render)(request, context)

    async def _change(self, request: HttpRequest, actor: Actor) -> dict[str, Any]:
        """Do what a button of the form says; returns what the page says about it."""
        form = await sync_to_async(lambda: request.POST)()
        address = form.get("webhook", "").strip()
        do = form.get("do", "save")
        if do == "test":
            try:
                error = await send_test(actor)
            except HttpError as refusal:
                error = refusal.code
            return {"test_error": error, "is_tested": True}
        changes: dict[str, Any] = {"new_secret": do == "secret"}
        settings = conf.part(NotificationsSettings)
        if settings.mail != "off":
            changes["mail"] = "mail" in form
        if settings.webhook_hosts:
            changes["address"] = address
        try:
            choice, secret = await in_database(lambda: choices.change(actor.user.pk, **changes))
        except NotSent:
            # The form stays as the person has filled it in.
            choice = await in_database(choices.choice_of, actor.user.pk)
            choice.mail = changes.get("mail", choice.mail)
            return {"choice": choice, "refused": address}
        return {"choice": choice, "secret": secret, "is_saved": True}

    def _render(self, request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
        settings = conf.part(NotificationsSettings)
        offered = {"has_mail": settings.mail != "off", "hosts": settings.webhook_hosts}
        status = 422 if "refused" in context else 200
        return render(
            request, "agui_notifications/page.html", {**context, **offered}, status=status
        )
