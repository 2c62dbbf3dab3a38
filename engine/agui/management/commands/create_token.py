"""Make an API token. Standard output has nothing but the token."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from agui import conf
from agui.http.tokens import create_token


class Command(BaseCommand):
    help = "Make an API token for a user. It is shown once: only its digest is kept."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username", help="The user as whom the token acts.")
        parser.add_argument("--name", default="", help="Its purpose, to tell tokens apart.")
        parser.add_argument(
            "--days",
            type=int,
            default=conf.get().token_days,
            help="How many days the token is valid [%(default)s].",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        username, name = options["username"], options["name"]
        if len(name) > 100:
            raise CommandError("--name is too long: use at most 100 characters.")
        user_model = get_user_model()
        try:
            user = user_model._default_manager.get_by_natural_key(username)
        except user_model.DoesNotExist:
            raise CommandError(
                f"There is no user {username!r}. Create one in the admin, or with "
                "`python manage.py createsuperuser`."
            ) from None
        if not user.is_active:
            raise CommandError(
                f"The user {username!r} is not active: activate it in the admin first."
            )
        try:
            token, text = create_token(user, name, options["days"])
        except ValueError as error:
            raise CommandError(f"--days: {error}") from None
        life = "until it is revoked"
        if token.expires_at:
            life = f"until {token.expires_at:%Y-%m-%d %H:%M} UTC"
        self.stderr.write(f"A token for {username}, valid {life}. It is shown only now:")
        self.stdout.write(text)
