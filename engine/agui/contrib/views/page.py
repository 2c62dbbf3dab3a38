"""GET <prefix>views/frame/: the document in which the chat draws a card. It has no data."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from agui.actor import Actor
from agui.contrib.views import frame
from agui.http.views import AgentView


class FrameView(AgentView):
    """The frame of a card."""

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponse:
        return HttpResponse(
            frame.DOCUMENT,
            headers={
                "Content-Security-Policy": frame.HEADER,
                "X-Frame-Options": "SAMEORIGIN",
                "X-Content-Type-Options": "nosniff",
                "Referrer-Policy": "no-referrer",
            },
        )
