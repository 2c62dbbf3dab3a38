"""Send the notifications that are due. Servers do so themselves: this is for a cron job."""

from typing import Any

from asgiref.sync import async_to_sync
from django.core.management.base import BaseCommand

from agui.contrib.notifications.deliver import deliver_all


class Command(BaseCommand):
    help = "Send the notifications that are due, and those whose next attempt is due."

    def handle(self, *args: Any, **options: Any) -> None:
        number = async_to_sync(deliver_all)()
        self.stdout.write(f"Tried to send {number} notifications.")
