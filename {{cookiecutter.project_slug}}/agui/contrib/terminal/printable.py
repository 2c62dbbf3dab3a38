"""Words of a model, a tool or a person, without what a terminal would obey."""

import json
import re
from typing import Any

# Escape sequences move the cursor, rename the window and fill the clipboard; characters that turn
# the direction of writing let arguments look like others. A lone surrogate has no bytes.
OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: str) -> str:
    """Replace control characters, but for tabs and line feeds."""
    return OBEYED.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def one_line(value: Any) -> str:
    """A value in one line: a text as it is, anything else as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return " ".join(printable(text).split())
