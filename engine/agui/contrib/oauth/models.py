from django.db import models
from django.utils import timezone


class TokenFamily(models.Model):
    """The tokens that one code has given, and all that followed them.

    An exchange, a revocation and the end of a connection hold the row meanwhile (families.py).
    """

    id = models.UUIDField(
        primary_key=True, editable=False, help_text="The `token_family` of its refresh tokens."
    )
    held_at = models.DateTimeField(default=timezone.now, db_index=True)
    answers = models.JSONField(
        default=list,
        help_text="What was answered in the last seconds, each sealed under what was sent for it.",
    )

    def __str__(self) -> str:
        return str(self.id)
