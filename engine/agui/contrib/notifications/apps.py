from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.core import checks
from django.db import router, transaction
from django.urls import reverse
from django.utils.translation import pgettext_lazy

from agui import clock, conf
from agui.contrib.notifications.checks import check_deployment, check_links
from agui.contrib.notifications.conf import NotificationsSettings
from agui.lazy_import import LazyImport
from agui.part_values import EndedRun, Outdated, PersonalData
from agui.parts import Part
from agui.sentences import wording

if TYPE_CHECKING:
    from agui.actor import Actor
    from agui.contrib.notifications import deliver, models, outbox
else:
    # These modules import models, which don't exist yet when Django imports this one.
    deliver = LazyImport("agui.contrib.notifications.deliver")
    models = LazyImport("agui.contrib.notifications.models")
    outbox = LazyImport("agui.contrib.notifications.outbox")

MAX_REMEMBERED = 1000


class NotificationsConfig(Part):
    name = "agui.contrib.notifications"
    label = "agui_notifications"
    verbose_name = wording("Agent: notifications")
    settings = NotificationsSettings

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._quiet: OrderedDict[str, None] = OrderedDict()
        """The last runs of this process of which nobody is told."""

    def ready(self) -> None:
        checks.register(check_links)
        checks.register(check_deployment, deploy=True)

    def wrap_application(self, application: Any) -> Any:
        if not _is_on():
            return application

        async def start_and_serve(scope: Any, receive: Any, send: Any) -> None:
            deliver.deliveries.start()
            await application(scope, receive, send)

        return start_and_serve

    def routes(self) -> dict[str, tuple[str, str]]:
        views = "agui.contrib.notifications.views"
        return {
            "notifications": ("notifications/", f"{views}.NotificationsView"),
            "notifications-test": ("notifications/test/", f"{views}.WebhookTestView"),
            "notifications-page": ("notifications/page/", f"{views}.ChoicesPage"),
        }

    def personal_pages(self, agent: str) -> dict[str, Any]:
        if not _is_on():
            return {}
        return {reverse(f"{agent}:notifications-page"): pgettext_lazy("agui", "Notifications")}

    def client_capabilities(self) -> dict[str, Any]:
        settings = conf.part(NotificationsSettings)
        if not settings.is_on:
            return {}
        has_mail, has_webhooks = settings.mail != "off", bool(settings.webhook_hosts)
        return {"notifications": {"mail": has_mail, "webhook": has_webhooks}}

    def run_context(self, run: Any) -> AbstractContextManager[Any]:
        return _delivering()

    def run_ended(self, run: EndedRun) -> None:
        if not _is_on():
            return
        if outbox.record(run):
            using = router.db_for_write(models.Notification)
            transaction.on_commit(deliver.deliveries.wake, using=using)
        else:
            self._quiet[run.key] = None
            if len(self._quiet) > MAX_REMEMBERED:
                self._quiet.popitem(last=False)

    def end_read(self, log: Any) -> None:
        if _is_on() and log.key not in self._quiet:
            deliver.deliveries.forget(log.key)

    def thread_deleted(self, thread_id: str, scope: str) -> None:
        # If the project tells nobody any more, pruning deletes the last rows.
        if _is_on():
            models.Notification.objects.filter(thread_id=thread_id, scope=scope).delete()

    def personal_data(self, actor: "Actor") -> Iterable[PersonalData]:
        own = models.Notification.objects.filter(scope=actor.scope).order_by("created_at")
        yield PersonalData("notifications", own, hidden=("scope", "owner"))
        choices = models.NotificationChoice.objects.filter(user=actor.user.pk)
        hidden = ("id", "user", "webhook_seed")
        yield PersonalData("notification_choices", choices, hidden=hidden)

    def prune(self, dry_run: bool) -> Iterable[Outdated]:
        days = timedelta(days=conf.part(NotificationsSettings).retention_days)
        old = models.Notification.objects.filter(created_at__lt=clock.now() - days)
        yield Outdated("notifications", old)

    async def shutdown(self) -> None:
        await deliver.deliveries.stop()


def _is_on() -> bool:
    return conf.part(NotificationsSettings).is_on


@contextmanager
def _delivering() -> Iterator[None]:
    if _is_on():
        deliver.deliveries.start()
    yield
