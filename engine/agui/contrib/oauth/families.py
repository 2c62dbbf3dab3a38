"""Token families: one exchange at a time, and the same answer to a client that asks again.

Apps refresh in several processes at once, and ask again if an answer was lost. So what was
exchanged for tokens gets the same tokens once more for some seconds, never others.
"""

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.db import router, transaction
from django.http import HttpRequest
from oauth2_provider.models import get_grant_model, get_refresh_token_model

from agui import clock
from agui.contrib.mcp.sealing import codec_of
from agui.contrib.oauth.models import TokenFamily

ASK_AGAIN_SECONDS = 30
MAX_ANSWERS = 20
PROOFS = ("code", "refresh_token", "client_id", "client_secret", "code_verifier", "redirect_uri")


def family_of_code(code: str) -> UUID:
    """Return the family of the tokens that a code gives."""
    return UUID(bytes=sha256(code.encode(errors="surrogatepass")).digest()[:16])


def family_of_token(token: str) -> UUID | None:
    """Return the family of an access token or a refresh token."""
    checksum = sha256(token.encode(errors="surrogatepass")).hexdigest()
    rows = get_refresh_token_model().objects
    row = rows.filter(token_checksum=checksum).first()
    row = row or rows.filter(access_token__token_checksum=checksum).first()
    family: UUID | None = row and row.token_family
    return family


def family_in(form: Any) -> UUID | None:
    """Return the family of what a client wants to exchange, if there is such a code or token."""
    if token := form.get("refresh_token"):
        return family_of_token(token)
    code = form.get("code", "")
    family = family_of_code(code)
    is_known = get_grant_model().objects.filter(code=code).exists()
    is_known = is_known or get_refresh_token_model().objects.filter(token_family=family).exists()
    return family if is_known else None


@contextmanager
def holding(families: Collection[UUID]) -> Iterator[None]:
    """Let nobody else exchange, revoke or end tokens of these families meanwhile."""
    with transaction.atomic(using=router.db_for_write(TokenFamily)):
        for family in sorted(families):
            row = TokenFamily.objects.filter(pk=family)
            # A write waits on every database: SQLite can't lock a row that is only read.
            while not row.update(held_at=clock.now()):
                TokenFamily.objects.bulk_create([TokenFamily(pk=family)], ignore_conflicts=True)
        yield


@contextmanager
def ending(families: Collection[UUID]) -> Iterator[None]:
    """Do the same, and answer nothing again."""
    with holding(families):
        yield
        TokenFamily.objects.filter(pk__in=families).update(answers=[])


class Exchange:
    """What a client sends to get tokens. Its answer is kept, sealed under all that was sent.

    A thief of the database can't read it, and neither can a client that lacks one of the proofs.
    """

    def __init__(self, request: HttpRequest, family: UUID) -> None:
        self.family = family
        proofs = [request.POST.get(name, "") for name in PROOFS]
        sent = json.dumps([*proofs, request.headers.get("Authorization", "")])
        self.name = sha256(f"agui.oauth.name\n{sent}".encode()).hexdigest()
        key = sha256(f"agui.oauth.answer\n{sent}".encode()).hexdigest()
        self._codec = codec_of(key)

    def answer(self) -> bytes | None:
        """Return what was answered to the same a moment ago."""
        for name, _, sealed in self._recent():
            if name == self.name:
                return self._codec.unseal(sealed)
        return None

    def keep(self, answer: bytes) -> None:
        entry = [self.name, clock.timestamp(), self._codec.seal(answer)]
        answers = [*self._recent(), entry][-MAX_ANSWERS:]
        TokenFamily.objects.filter(pk=self.family).update(answers=answers)

    def _recent(self) -> list[Any]:
        since = clock.timestamp() - ASK_AGAIN_SECONDS
        answers = TokenFamily.objects.values_list("answers", flat=True).get(pk=self.family)
        return [entry for entry in answers if entry[1] > since]
