from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from agui.lazy_import import LazyImport
from agui.part_values import PersonalData
from agui.parts import Part
from agui.sentences import fill, wording

if TYPE_CHECKING:
    from django.utils.safestring import SafeString

    from agui.actor import Actor
    from agui.contrib.admin import lists
    from agui.contrib.feedback import models, ratings
    from agui.models import AbstractConversation
else:
    # These modules import models, which don't exist yet when Django imports this one.
    lists = LazyImport("agui.contrib.admin.lists")
    models = LazyImport("agui.contrib.feedback.models")
    ratings = LazyImport("agui.contrib.feedback.ratings")


class FeedbackConfig(Part):
    name = "agui.contrib.feedback"
    label = "agui_feedback"
    verbose_name = wording("Agent: feedback")
    page_modules = {"answer:feedback": "agui_feedback/rating.js"}

    def routes(self) -> dict[str, tuple[str, str]]:
        view = "agui.contrib.feedback.views.ThreadFeedbackView"
        return {"thread-feedback": ("threads/<path:thread_id>/feedback/", view)}

    def page_attributes(self, agent: str) -> dict[str, Any]:
        return {"data-feedback": None} if ratings.is_kept() else {}

    def thread_details(self, thread_id: str, scope: str) -> dict[str, Any]:
        if not ratings.is_kept():
            return {}
        return {"feedback": ratings.read_feedback(thread_id, scope)}

    def personal_data(self, actor: "Actor") -> Iterable[PersonalData]:
        yield ratings.ratings_of(actor)

    def admin_links(self, thread: "AbstractConversation") -> "list[SafeString]":
        count = models.Feedback.objects.filter(thread=thread.pk).count()
        return [
            lists.link_list(
                models.Feedback,
                fill(wording("feedback ({number})"), number=count),
                thread=thread.pk,
            )
        ]
