"""The project's user: yours to extend."""

from django.contrib.auth.models import AbstractUser


class User(AbstractUser):
    """A custom model from the first migration on: it can't be swapped in later."""
