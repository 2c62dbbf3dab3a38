"""Sentences for users, in their language: Django's catalogs in agui/locale have the words.

What only developers, models or logs read is English everywhere.
"""

import re
from functools import partial
from typing import Any

from django.utils.functional import Promise, lazy
from django.utils.translation import override, pgettext_lazy

# As in words/strings.js: Hebrew, Arabic, Syriac and Thaana letters.
RTL = re.compile("[\u0590-\u08ff]")
LETTER = re.compile(r"[^\W\d_]")
ISOLATE, END_OF_ISOLATE = "\u2068", "\u2069"

wording = partial(pgettext_lazy, "agui")
"""A word, such as the head of a column. Its context keeps it apart from words of the project."""


def in_english(sentence: str | Promise) -> str:
    """Write a sentence for the log, in which the language of a user makes no difference."""
    with override(None):
        return str(sentence)


def fill(sentence: str | Promise, **values: Any) -> str:
    """Fill `{name}` in a sentence.

    A value that runs in the other direction is isolated, so that it doesn't reorder the text
    around it.
    """
    text = str(sentence)
    return text.format(**{name: _beside(text, value) for name, value in values.items()})


fill_lazy = lazy(fill, str)
"""Does the same when the sentence is read, in the language of that moment."""


def _beside(text: str, value: Any) -> str:
    written = str(value)
    runs_along = bool(RTL.search(written)) == bool(RTL.search(text))
    if runs_along or not LETTER.search(written):
        return written
    return f"{ISOLATE}{written}{END_OF_ISOLATE}"
