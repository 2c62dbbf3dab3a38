"""Revoke API tokens: the one with a prefix, or all of a user."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from agui.http.tokens import SHOWN_CHARS
from agui.models import ApiToken


class Command(BaseCommand):
    help = "Revoke an API token by its prefix, or all tokens of a user: the next request with one is refused."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "prefix",
            nargs="?",
            default="",
            help="Its beginning, as the admin shows it, or all of it.",
        )
        parser.add_argument("--user", default="", help="Revoke all tokens of this user.")

    def handle(self, *args: Any, **options: Any) -> None:
        prefix, username = options["prefix"], options["user"]
        if bool(prefix) == bool(username):
            raise CommandError("Name a token by its prefix, or a user with --user.")
        if username:
            user_model = get_user_model()
            user = user_model._default_manager.filter(
                **{user_model.USERNAME_FIELD: username}
            ).first()
            if user is None:
                raise CommandError(f"There is no user {username!r}.")
            tokens = ApiToken.objects.filter(user=user)
        else:
            tokens = ApiToken.objects.filter(prefix=prefix[:SHOWN_CHARS])
            if not tokens.exists():
                # Not the text itself: it may be a token that works, with one letter missing.
                raise CommandError(
                    "There is no token with this prefix: the admin lists all, by their prefixes."
                )
        revoked = tokens.filter(revoked_at=None).update(revoked_at=timezone.now())
        self.stdout.write(f"Tokens revoked: {revoked}.")
