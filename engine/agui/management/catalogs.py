"""Read Django's catalogs: `django.po`, which people write, and `django.mo`, which Django reads."""

import ast
import gettext
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

LINE = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)?\s*(".*")')
CONTEXT_END = "\4"


@dataclass
class Message:
    """A text of the source, and its translations: several if it depends on a number."""

    id: str = ""
    context: str = ""
    plural: str = ""
    translations: list[str] = field(default_factory=list)
    is_fuzzy: bool = False

    @property
    def key(self) -> str:
        """The text as a compiled catalog names it."""
        if not self.context:
            return self.id
        return f"{self.context}{CONTEXT_END}{self.id}"


@dataclass
class Catalog:
    path: Path
    messages: dict[str, Message]
    forms: int
    """How many forms of a text its language has."""

    def is_compiled(self) -> bool:
        """Whether the compiled catalog beside it says the same."""
        try:
            with self.path.with_suffix(".mo").open("rb") as file:
                compiled = gettext.GNUTranslations(file)
        except OSError:
            return False
        texts: dict[object, str] = compiled._catalog  # type: ignore[attr-defined]
        for key, message in self.messages.items():
            if message.is_fuzzy or not all(message.translations):
                continue
            for number, translation in enumerate(message.translations):
                # Only texts that depend on a number have the number of each form.
                if translation not in (texts.get((key, number)), texts.get(key)):
                    return False
        return True


def read_catalog(path: Path) -> Catalog:
    """Read a `django.po`."""
    messages = {message.key: message for message in _messages(path)}
    header = messages.pop("", Message(translations=[""]))
    forms = re.search(r"nplurals\s*=\s*(\d+)", header.translations[0])
    if forms is None:
        return Catalog(path, messages, 1)
    return Catalog(path, messages, int(forms[1]))


def _messages(path: Path) -> Iterator[Message]:
    for block in re.split(r"\n\s*\n", path.read_text("utf-8")):
        message = Message()
        parts: dict[str, str] = {}
        part = ""
        for line in block.splitlines():
            if line.startswith("#,") and "fuzzy" in line:
                message.is_fuzzy = True
            found = LINE.fullmatch(line.strip())
            if found:
                part = found[1] or part
                # A text in quotation marks is written as in Python.
                parts[part] = parts.get(part, "") + ast.literal_eval(found[2])
        if "msgid" in parts:
            message.id = parts.pop("msgid")
            message.context = parts.pop("msgctxt", "")
            message.plural = parts.pop("msgid_plural", "")
            message.translations = list(parts.values())
            yield message
