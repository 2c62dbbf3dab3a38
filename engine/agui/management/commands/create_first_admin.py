"""Create the first administrator, so that a fresh checkout can be used at once."""

import secrets
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand
from django.db import transaction

from agui.http.tokens import create_token

USERNAME = "admin"


class Command(BaseCommand):
    help = (
        f"Creates the administrator '{USERNAME}' with a random password and an API token, if there "
        "is no user yet."
    )

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        users: Any = get_user_model()._default_manager
        if users.exists():
            return
        password = secrets.token_urlsafe(12)
        user = users.create_superuser(USERNAME, password=password)
        _, token = create_token(user, name="first administrator")
        self.stdout.write(
            "\n  The first administrator. This is shown once:\n"
            f"    Username:   {USERNAME}\n"
            f"    Password:   {password}\n"
            f"    API token:  {token}\n"
        )
