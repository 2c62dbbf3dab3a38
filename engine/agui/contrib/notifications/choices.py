"""What a user has chosen: mail, a webhook, both or nothing."""

import secrets
from typing import Any

from django.utils import translation

from agui import clock, conf
from agui.contrib.notifications import webhook
from agui.contrib.notifications.conf import NotificationsSettings
from agui.contrib.notifications.models import Notification, NotificationChoice
from agui.contrib.notifications.receivers import Receiver


def choice_of(user_id: Any) -> NotificationChoice:
    """Return the choice of a user. It is a new one, which is not stored, if they have made none."""
    choice = NotificationChoice.objects.filter(user=user_id).first()
    return choice or NotificationChoice(user_id=user_id, mail=mails_by_default())


def mails_by_default() -> bool:
    return conf.part(NotificationsSettings).mail == "opt_out"


def channels_of(user_id: Any) -> list[str]:
    """List the channels by which a user is told."""
    return channels(choice_of(user_id))


def channels(choice: NotificationChoice) -> list[str]:
    settings = conf.part(NotificationsSettings)
    chosen: list[str] = []
    if choice.mail and settings.mail != "off":
        chosen.append(Notification.Channel.MAIL)
    if choice.webhook and not choice.webhook_gone_at and settings.webhook_hosts:
        chosen.append(Notification.Channel.WEBHOOK)
    return chosen


def change(
    user_id: Any,
    *,
    mail: bool | None = None,
    address: str | None = None,
    new_secret: bool = False,
) -> tuple[NotificationChoice, str]:
    """Change what a user has chosen. Returns it, and the secret of the webhook if that is new.

    Each address has a secret of its own: the receiver before could otherwise forge webhooks for the
    next one. Raises NotSent if the project does not allow an address.
    """
    choice = choice_of(user_id)
    if mail is not None:
        choice.mail = mail
    if address is not None:
        if address:
            Receiver(address)
        new_secret = bool(address) and (new_secret or address != choice.webhook)
        choice.webhook, choice.webhook_gone_at = address, None
    secret = ""
    if new_secret and choice.webhook:
        choice.webhook_seed = secrets.token_hex(16)
        secret = webhook.secret_of(user_id, choice.webhook_seed)
    choice.language, choice.updated_at = translation.get_language() or "", clock.now()
    choice.save()
    return choice, secret


def end_webhook(choice: NotificationChoice) -> None:
    """Send nothing any more to a receiver that is gone, until the user saves its address again."""
    same = NotificationChoice.objects.filter(pk=choice.pk, webhook=choice.webhook)
    same.update(webhook_gone_at=clock.now())
