"""Revoke API tokens: one by its prefix, or all tokens of a user."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from agui import clock
from agui.http.tokens import SHOWN_CHARS
from agui.models import ApiToken


class Command(BaseCommand):
    help = (
        "Revoke an API token by its prefix, or all tokens of a user. The next request with a "
        "revoked token is refused."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "prefix",
            nargs="?",
            default="",
            help="The beginning of the token, as the admin shows it, or the whole token.",
        )
        parser.add_argument("--user", default="", help="Revoke all tokens of this user.")

    def handle(self, *args: Any, **options: Any) -> None:
        prefix, username = options["prefix"], options["user"]
        if bool(prefix) == bool(username):
            raise CommandError("Name a token by its prefix, or a user with --user.")
        if username:
            user_model = get_user_model()
            try:
                user = user_model._default_manager.get_by_natural_key(username)
            except user_model.DoesNotExist:
                raise CommandError(f"There is no user {username!r}.") from None
            tokens = ApiToken.objects.filter(user=user)
        else:
            tokens = ApiToken.objects.filter(prefix=prefix[:SHOWN_CHARS])
            if not tokens.exists():
                # Don't repeat the text: it may be a valid token with a typing mistake.
                raise CommandError(
                    "There is no token with this prefix: the admin lists all, by their prefixes."
                )
        revoked = tokens.filter(revoked_at=None).update(revoked_at=clock.now())
        self.stdout.write(f"Tokens revoked: {revoked}.")
