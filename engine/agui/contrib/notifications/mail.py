"""Mails to users, in the language of the run."""

import smtplib
from typing import Any

from django.conf import settings
from django.core.mail import DNS_NAME, EmailMessage
from django.utils import translation
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from agui import conf
from agui.contrib.notifications import links
from agui.contrib.notifications.conf import NotificationsSettings
from agui.contrib.notifications.models import Notification, NotificationChoice
from agui.contrib.notifications.receivers import NotSent
from agui.models import get_conversation_model
from agui.sentences import fill, wording

NO_ADDRESS = "no_address"
MAX_TITLE_CHARS = 80

SUBJECTS: dict[str, str | Promise] = {
    Notification.Kind.FINISHED: wording("The answer is ready"),
    Notification.Kind.WAITING: wording("Your decision is needed"),
    Notification.Kind.FAILED: wording("The answer failed"),
}
SENTENCES: dict[str, str | Promise] = {
    Notification.Kind.FINISHED: _("The assistant has answered while you were away."),
    Notification.Kind.WAITING: _("The assistant waits for your decision before it goes on."),
    Notification.Kind.FAILED: _("The run ended with an error. What was done so far is kept."),
}

Thread = get_conversation_model()


def send(row: Notification, choice: NotificationChoice) -> None:
    """Send a mail by Django's backend. Raises NotSent."""
    user: Any = choice.user
    address = getattr(user, user.get_email_field_name(), "")
    if not address:
        raise NotSent(NO_ADDRESS)
    with translation.override(row.language or choice.language or settings.LANGUAGE_CODE):
        message = compose(row, address)
    try:
        message.send()
    except (smtplib.SMTPException, OSError):
        raise NotSent("mail_failed") from None


def compose(row: Notification, address: str) -> EmailMessage:
    """Write a mail in the active language."""
    title = title_of(row)
    subject = str(SUBJECTS[row.kind])
    if title:
        subject = fill(wording("{news}: {title}"), news=subject, title=title)
    paragraphs = [str(SENTENCES[row.kind])]
    page = links.thread_url(row.scope, row.thread_id)
    if page:
        paragraphs.append(page)
    headers = {
        # A mail that is sent twice, because a process died, is one mail.
        "Message-ID": f"<{row.pk}@{DNS_NAME}>",
        "Auto-Submitted": "auto-generated",
    }
    choices = links.choices_url(row.scope)
    if choices:
        question = _("Choose here how you are told, or turn it off:")
        paragraphs.append(f"{question}\n{choices}")
        headers["List-Unsubscribe"] = f"<{choices}>"
    return EmailMessage(subject, "\n\n".join(paragraphs) + "\n", to=[address], headers=headers)


def title_of(row: Notification) -> str:
    """Return the title of a conversation in one line; '' if mails have none."""
    if not conf.part(NotificationsSettings).titles:
        return ""
    rows = Thread.objects.filter(thread_id=row.thread_id, scope=row.scope)
    title = rows.values_list("title", flat=True).first() or ""
    line = " ".join("".join(c if c.isprintable() else " " for c in title).split())
    return line if len(line) <= MAX_TITLE_CHARS else line[: MAX_TITLE_CHARS - 1] + "…"
