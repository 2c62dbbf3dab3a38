from typing import Any, Self

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext_lazy as _

from agui.actor import Actor
from agui.contrib.mentions.records import Mentions
from agui.contrib.mentions.references import MAX_CHARS
from agui.errors import BadRequest
from agui.http.views import AgentView, DjangoAGUIView
from agui.sentences import fill_lazy


class MentionsView(AgentView):
    """GET the records that this user may mean: `?q=` is what they have typed after the @."""

    def __init__(self, mentions: Mentions | None, **access: Any) -> None:
        super().__init__(**access)
        self.mentions = mentions

    @classmethod
    def mounted(cls, view: DjangoAGUIView) -> Self:
        for capability in view.endpoint.config.capabilities:
            if isinstance(capability, Mentions):
                return cls(capability, **view.access)
        return cls(None, **view.access)

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponse:
        # A text column refuses NUL.
        q = request.GET.get("q", "").replace("\0", "").strip()
        if len(q) > MAX_CHARS:
            raise BadRequest(
                fill_lazy(_("Search for at most {limit} characters."), limit=MAX_CHARS)
            )
        mentions = await self.mentions.find(actor.user, q) if self.mentions else []
        return JsonResponse({"mentions": mentions})
