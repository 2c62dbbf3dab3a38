"""Models of other projects: of users, whose key the settings choose, and of conversations."""

import uuid
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.utils import timezone

from agui import AbstractConversation

KEYS: dict[str, Any] = {
    "uuid": lambda: models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False),
    "text": lambda: models.CharField(primary_key=True, max_length=100),
    "number": lambda: models.AutoField(primary_key=True),
    "row": lambda: models.OneToOneField("people.Contact", models.CASCADE, primary_key=True),
}


class Contact(models.Model):
    """Somebody who may have an account: its row is the key of the account."""

    number = models.UUIDField(primary_key=True, default=uuid.uuid4)


class People(BaseUserManager["Person"]):
    """People who have left are not found."""

    def get_queryset(self) -> Any:
        return super().get_queryset().filter(left_at=None)

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "Person":
        person = self.model(email=email, **fields)
        person.set_password(password)
        person.save()
        return person


class Person(AbstractBaseUser, PermissionsMixin):
    """No user name, a key of another kind, and a deletion that keeps the row."""

    key = KEYS[settings.WORLD["key"]]()
    email = models.EmailField(unique=True)
    is_staff = models.BooleanField(default=False)
    left_at = models.DateTimeField(null=True, blank=True)
    objects = People()
    USERNAME_FIELD = "email"

    def delete(self, *args: Any, **kwargs: Any) -> Any:
        self.left_at = timezone.now()
        self.save()
        return 1, {}


class Talk(AbstractConversation):
    """Conversations in a table that has another name."""

    class Meta(AbstractConversation.Meta):
        db_table = "people_Talk with agents"
