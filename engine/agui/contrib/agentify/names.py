"""The names of a model's tools, and the words for its rows."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from django.apps import apps
from django.db import models

MAX_CHARS = 48
"""Of a row's name in a tool's name, which may have 64."""


@dataclass(frozen=True)
class Names:
    """The names of one row and of several rows in tools."""

    singular: str
    plural: str

    @property
    def row(self) -> str:
        return self.singular.replace("_", " ")

    @property
    def rows(self) -> str:
        return self.plural.replace("_", " ")

    @property
    def a_row(self) -> str:
        article = "an" if self.row[0] in "aeio" else "a"
        return f"{article} {self.row}"

    @property
    def module(self) -> str:
        return f"tools_{self.singular}"


def names_of(singular: str) -> Names:
    return Names(singular, plural_of(singular))


def name_of(model: type[models.Model], why_taken: Callable[[Names], str]) -> tuple[str, str]:
    """Name a model's rows after its class, with the app's label in front if that is needed.

    Returns the name, and why it is not the class's; "" if it is.
    """
    short = snake_case(model.__name__)[:MAX_CHARS].strip("_")
    reason = why_taken(names_of(short))
    if shares_its_name(model):
        reason = f"another model is called {model.__name__}, too"
    if not reason:
        return short, ""
    label = snake_case(model._meta.app_label)
    long = f"{label}_{short}"[:MAX_CHARS].strip("_")
    if why_taken(names_of(long)):
        # PeriodicTask and PeriodicTasks of one app.
        long = f"{long[: MAX_CHARS - 4]}_row"
    return long, reason


def shares_its_name(model: type[models.Model]) -> bool:
    """Whether another model of the project has the same name, or the same plural."""
    plural = plural_of(snake_case(model.__name__))
    for other in apps.get_models():
        if other is not model and plural_of(snake_case(other.__name__)) == plural:
            return True
    return False


def snake_case(name: str) -> str:
    """Turn a class's name into words: "HTMLPage" is "html_page"."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return re.sub(r"_+", "_", re.sub(r"[^a-z0-9]", "_", name.lower())).strip("_")


def plural_of(word: str) -> str:
    """Write the plural of an English word, if it follows the rules."""
    if re.search(r"[^aeiou_]y$", word):
        return f"{word[:-1]}ies"
    if re.search(r"(ss|x|z|ch|sh)$", word):
        return f"{word}es"
    return word if word.endswith("s") else f"{word}s"
