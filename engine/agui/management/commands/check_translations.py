"""Tell what translations lack: those of the chat, of the engine, and of the project."""

import re
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import to_locale

from agui.management.catalogs import Catalog, Message, read_catalog
from agui.management.word_tables import (
    LANGUAGES,
    Table,
    Text,
    Unreadable,
    engine_table,
    english,
    read_table,
)

# Directories of installed packages, whose catalogs are not the project's.
INSTALLED = {"site-packages", "dist-packages"}
ENGINE = Path(__file__).resolve().parents[2] / "locale"
FORMS = {"zero", "one", "two", "few", "many", "other"}
PLACE = re.compile(r"\{\w*\}|%\(\w+\)[sd]")


class Command(BaseCommand):
    help = (
        "Tell what translations lack: missing and unknown words, differing placeholders, and "
        "catalogs that are not compiled. The exit code is 1 if they lack anything."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "language", nargs="*", help="As in LANGUAGES; by default all of them except English."
        )
        parser.add_argument(
            "--table", type=Path, help="A table of words of your own, as for `data-strings-url`."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        languages = options["language"] or [
            code for code, _ in settings.LANGUAGES if not re.match("en(-|$)", code)
        ]
        if options["table"] and len(languages) != 1:
            raise CommandError("With --table, name the one language of the table.")
        problems = 0
        for language in languages:
            found = [*_check_page(language, options["table"]), *_check_catalogs(language)]
            for problem in found:
                self.stdout.write(f"{language}: {problem}")
            problems += len(found)
        if problems:
            raise CommandError(f"Problems: {problems}.")
        self.stdout.write(f"Complete: {', '.join(languages)}.")


def _check_page(language: str, own_table: Path | None) -> Iterator[str]:
    """Compare a table of the chat's words with the words of its modules."""
    path = own_table or engine_table(language)
    if path is None:
        yield "the chat has no table. Write one like words/languages/de.js, and name it in --table."
        return
    try:
        table, words = read_table(path), english()
    except (OSError, Unreadable) as error:
        yield str(error)
        return
    # A project may lack parts whose words the engine's tables have.
    known = words.keys() | {name for each in LANGUAGES.glob("*.js") for name in read_table(each)}
    for name in sorted(words.keys() - table.keys()):
        yield f"{path.name} lacks {name!r}: {_sample(words[name])!r}."
    for name in sorted(table.keys() - known):
        yield f"{path.name} has {name!r}, which the chat does not know."
    for name in sorted((words.keys() & table.keys()) - {"lang"}):
        yield from _check_word(path, name, words[name], table)


def _check_word(path: Path, name: str, source: Text, table: Table) -> Iterator[str]:
    text = table[name]
    forms = _forms(text)
    if isinstance(source, str) and not isinstance(text, str):
        yield f"{path.name}: {name!r} depends on no number, so it is one text."
    if "other" not in forms or not forms.keys() <= FORMS:
        yield f"{path.name}: the forms of {name!r} are {', '.join(sorted(FORMS))}, always 'other'."
    if _places(_sample(text)) != _places(_sample(source)):
        yield f"{path.name}: {name!r} has other placeholders than {_sample(source)!r}."


def _forms(text: Text) -> dict[str, str]:
    if isinstance(text, str):
        return {"other": text}
    return text


def _sample(text: Text) -> str:
    return _forms(text).get("other", "")


def _places(text: str) -> list[str]:
    return sorted(PLACE.findall(text))


def _check_catalogs(language: str) -> Iterator[str]:
    """Compare catalogs of a language with those of the other languages beside them."""
    own: set[str] = set()
    for folder in _folders():
        if catalog := _catalog(folder, language):
            own |= catalog.messages.keys()
            yield from _check_catalog(catalog)
    for folder in (ENGINE, *_folders()):
        there = set(own)
        if catalog := _catalog(folder, language):
            there |= catalog.messages.keys()
        for key, message in sorted(_all_messages(folder).items()):
            # A project may translate sentences of the engine in a catalog of its own.
            if key not in there:
                yield f"{folder.parent.name}/locale lacks {message.id!r}."


def _check_catalog(catalog: Catalog) -> Iterator[str]:
    where = "/".join(catalog.path.parts[-5:])
    for message in catalog.messages.values():
        if message.is_fuzzy or not all(message.translations or [""]):
            yield f"{where}: {message.id!r} has no translation, or an uncertain one (fuzzy)."
        elif message.plural and len(message.translations) != catalog.forms:
            yield f"{where}: {message.id!r} needs {catalog.forms} forms."
        elif not _fits(message):
            yield f"{where}: {message.id!r} has other placeholders."
    if not catalog.is_compiled():
        yield f"{where} is not compiled: run `manage.py compilemessages`."


def _fits(message: Message) -> bool:
    """Whether a translation fills in what its source does; a plural form may leave it out."""
    places = _places(message.plural or message.id)
    if message.plural:
        return all(set(_places(text)) <= set(places) for text in message.translations)
    return _places(message.translations[0]) == places


def _folders() -> list[Path]:
    """List the folders with catalogs that are the project's own."""
    folders = [Path(folder) for folder in settings.LOCALE_PATHS]
    for config in apps.get_app_configs():
        path = Path(config.path)
        is_installed = bool(INSTALLED.intersection(path.parts))
        if not is_installed and config.name != "agui" and (path / "locale").is_dir():
            folders.append(path / "locale")
    return folders


def _catalog(folder: Path, language: str) -> Catalog | None:
    for locale in (to_locale(language), to_locale(language).partition("_")[0]):
        path = folder / locale / "LC_MESSAGES/django.po"
        if path.is_file():
            return read_catalog(path)
    return None


def _all_messages(folder: Path) -> dict[str, Message]:
    messages: dict[str, Message] = {}
    for path in sorted(folder.glob("*/LC_MESSAGES/django.po")):
        messages.update(read_catalog(path).messages)
    return messages
