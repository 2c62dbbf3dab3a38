"""Values that never leave: by the names of fields and models, by their types, and in texts."""

import json
import re
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db import models
from pydantic_ai.messages import ToolCallPart

from agui.conf_sections import SECRET_NAMES
from agui.contrib.agentify.owners import is_own
from agui.tools.redaction import redact_text, secret_test
from agui.tools.secret_arguments import REDACTED


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A name is secret if one of its words is one of these. "keyword" is no secret.
SECRET_WORDS = word_set(
    "apikey auth captcha challenge csrf cvc cvn cvv digest dsn hash hmac iban jti key keys magic "
    "mfa mnemonic nonce otp p256dh pan passcode pem pin recovery salt seed serialized sid "
    "signature ssn tan totp verifier webauthn"
)
# A name is secret if it contains one of these, whatever is between their words.
SECRET_PARTS = [
    *SECRET_NAMES,
    *("bearer", "jwt", "session_id", "session_data", "session_key", "registration_id"),
    *("connection_string", "conn_str", "database_url", "db_url", "broker_url", "redis_url"),
    *("webhook_url", "card_num", "cc_num", "account_num", "routing_num", "passport"),
    *("national_id", "social_security", "tax_id"),
]
# Codes and links that let somebody in, by the words beside them.
ACCESS = word_set(
    "2fa access activate activation authorization backup claim confirm confirmation grant "
    "invitation invite join login magic onetime pairing private recovery reset security share "
    "signin signup sms sso unlock verification verify"
)
CARRIERS = word_set("code codes link links uri uris url urls")
# The same in one word, such as "invitecode".
ACCESS_CODE = re.compile(rf"(?:{'|'.join(sorted(ACCESS))})(?:code|link|uri|url)s?")
# Models that are about secrets, and what they keep those in.
SECRET_MODEL = word_set("authenticator mfa otp passkey session sessions totp webauthn")
OPAQUE = word_set("blob data payload state value values")
# Models that keep copies of other rows, and what they keep those in.
LOG = word_set("audit entry history log revision version")
COPY = OPAQUE | word_set("content label message object repr str")
CARD = word_set("bankcard card creditcard debitcard")
MIN_CHARS = 4
"""Of a secret that is looked for in a text."""

_contains_secret = secret_test(SECRET_PARTS)


# --- By name


def is_secret_name(name: str) -> bool:
    """Whether a value of this name is a secret."""
    words = words_of(name)
    if _contains_secret(name) or words & SECRET_WORDS:
        return True
    if words & ACCESS and words & CARRIERS:
        return True
    return bool(ACCESS_CODE.search(_snake(name).replace("_", "")))


def words_of(name: str) -> frozenset[str]:
    """Split a name into words, also without the digits behind them: "cvv2" is also "cvv"."""
    words = _snake(name).split("_")
    return frozenset([*words, *(word.rstrip("0123456789") for word in words)]) - {""}


def _snake(name: str) -> str:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", spaced.lower())


# --- By field


def is_secret_field(field: Any) -> bool:
    """Whether a field's values never leave: secrets, bytes, and the keys of secret rows."""
    kinds = " ".join(kind.__name__ for kind in type(field).__mro__).lower()
    if isinstance(field, models.BinaryField) or "encrypt" in kinds or "password" in kinds:
        return True
    if field.is_relation:
        return _contains_secret(field.name) or is_key_of_secret(field)
    return is_secret_name(field.name) or _is_secret_in(field.model, field)


def is_key_of_secret(field: Any) -> bool:
    """Whether a relation holds a secret: the key of a token's row is the token."""
    if not isinstance(field.related_model, type):
        return False
    if field.many_to_many:
        return has_secret_key(field.related_model)
    return is_secret_field(field.target_field)


def has_secret_key(model: Any) -> bool:
    """Whether rows are identified by a secret, so that an id would give it away."""
    pk = model._meta.pk
    parts = getattr(pk, "fields", None) or [pk]
    return any(is_secret_field(part) for part in parts)


def _is_secret_in(model: type[models.Model], field: Any) -> bool:
    """Whether a field with a harmless name is a secret in this model."""
    words = words_of(field.name)
    about = words_of(model.__name__)
    is_text = isinstance(field, models.CharField | models.TextField | models.JSONField)
    if not is_text and not isinstance(field, models.UUIDField):
        return False
    is_identity = field.primary_key or field.name == "id"
    if _contains_secret(model.__name__) and (is_identity or words & OPAQUE):
        return True
    if about & SECRET_MODEL and words & OPAQUE:
        return True
    if about & CARD and words & {"number", "num"}:
        return True
    if "code" in words and (about & (ACCESS | {"token"}) or about == {"code"}):
        return True
    if words & {"link", "url"} and len(words) == 1 and about & ACCESS:
        return True
    return _is_copy(model, words, is_log=bool(about & LOG))


def _is_copy(model: type[models.Model], words: frozenset[str], *, is_log: bool) -> bool:
    """Whether a text may have come from any other row, such as the id of a token."""
    if not _names_any_model(model):
        return False
    return bool(words & COPY if is_log else "object" in words)


def _names_any_model(model: type[models.Model]) -> bool:
    for field in model._meta.get_fields():
        related: Any = field.related_model if field.is_relation and is_own(field) else None
        label = getattr(getattr(related, "_meta", None), "label", "")
        if label == "contenttypes.ContentType":
            return True
    return False


# --- In texts


@lru_cache(maxsize=1000)
def _secret_columns(model: type[models.Model]) -> tuple[str, ...]:
    fields = model._meta.concrete_fields
    return tuple(field.attname for field in fields if is_secret_field(field))


def names_secret(row: models.Model, text: str) -> bool:
    """Whether a text, such as `str(row)`, contains a secret of the row."""
    for column in _secret_columns(type(row)):
        value = row.__dict__.get(column)
        if isinstance(value, str | UUID) and len(str(value)) >= MIN_CHARS and str(value) in text:
            return True
    return False


def text_of(row: models.Model) -> str:
    """Return `str(row)`; "" if that fails, or contains a secret of the row."""
    try:
        text = str(row)
    except Exception:  # The project's method may need more than the row has.
        return ""
    return "" if names_secret(row, text) else text


def without_secrets(text: str) -> str:
    """Replace the secrets in a text: in JSON, in `name=value`, in URLs, keys and JWTs."""
    if text[:1] in ("{", "["):
        try:
            value = json.loads(text)
            cleaned = _cleaned(value)
        except (ValueError, RecursionError):
            pass
        else:
            return text if cleaned == value else json.dumps(cleaned, ensure_ascii=False)
    text = redact_text(text, ToolCallPart("", {}), SECRET_NAMES)
    return KEYS.sub(REDACTED, text)


KEYS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?!-----END)[\s\S])*(?:-----END [A-Z ]*-----)?"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
)


def _cleaned(value: Any) -> Any:
    if isinstance(value, dict):
        cleaned = {}
        for name, item in value.items():
            cleaned[name] = REDACTED if is_secret_name(name) else _cleaned(item)
        return cleaned
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return value
