"""Fields that never leave: by their name and their type."""

import re
from typing import Any

from django.db import models

from agui.conf_sections import SECRET_NAMES
from agui.tools.redaction import secret_test

# A name is secret if one of its words is one of these. "keyword" is no secret.
SECRET_WORDS = {
    "apikey",
    "auth",
    "cvc",
    "cvv",
    "hash",
    "hmac",
    "iban",
    "key",
    "keys",
    "nonce",
    "otp",
    "pin",
    "salt",
    "seed",
    "signature",
    "ssn",
    "totp",
}

_contains_secret = secret_test(SECRET_NAMES)


def is_secret_name(name: str) -> bool:
    """Whether a value of this name is a secret."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return _contains_secret(name) or not SECRET_WORDS.isdisjoint(re.split(r"[^a-z0-9]+", words))


def is_secret_field(field: Any) -> bool:
    """Whether a field's values never leave: secrets, bytes, and what is encrypted."""
    kinds = " ".join(kind.__name__ for kind in type(field).__mro__).lower()
    if isinstance(field, models.BinaryField) or "encrypt" in kinds or "password" in kinds:
        return True
    if field.is_relation:
        return _contains_secret(field.name)
    return is_secret_name(field.name)
