"""Texts of a model, a tool or a person, without the characters that control a terminal."""

import json
import re
from typing import Any

# Escape sequences move the cursor, rename the window and fill the clipboard. Characters that turn
# the direction of writing make arguments look like others. A lone surrogate can't be encoded.
CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029"
    "\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: str) -> str:
    """Replace control characters except tabs and line feeds."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def one_line(value: Any) -> str:
    """Write a value in one line: a text unchanged, other values as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return " ".join(printable(text).split())
