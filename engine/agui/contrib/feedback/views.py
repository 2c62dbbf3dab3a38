from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.translation import gettext_lazy as _

from agui.actor import Actor
from agui.blocking.executor import in_database
from agui.contrib.feedback.ratings import MAX_COMMENT_CHARS, give_feedback, is_kept
from agui.errors import BadRequest, NotFound
from agui.http.bodies import read_object
from agui.http.thread_actions import ThreadAction
from agui.protocol.run_input import check_message_id, check_thread_id
from agui.sentences import fill_lazy


class ThreadFeedbackView(ThreadAction):
    """PUT what the thread's user thinks of an answer: good (1) or bad (-1); 0 takes it back."""

    methods = frozenset({"PUT"})
    action = "feedback"

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponse:
        check_thread_id(kwargs["thread_id"])
        body = read_object(request)
        message_id = body.get("message_id", "")
        value = body.get("value")
        comment = body.get("comment", "")
        # `type`, because True and 1.0 equal 1.
        is_value = type(value) is int and value in (1, 0, -1)
        if not isinstance(message_id, str) or not is_value:
            raise BadRequest("Send a message_id, and a value: 1, -1, or 0 to remove the rating.")
        if not isinstance(comment, str) or len(comment) > MAX_COMMENT_CHARS:
            raise BadRequest(
                fill_lazy(_("A comment has at most {limit} characters."), limit=MAX_COMMENT_CHARS)
            )
        check_message_id(message_id)
        if not is_kept():
            raise NotFound(_("There is no such thread, or no such answer in it."))
        rating = await in_database(
            give_feedback, kwargs["thread_id"], actor.scope, message_id, value, comment
        )
        if rating is None:
            return HttpResponse(status=204)
        return JsonResponse(rating)
