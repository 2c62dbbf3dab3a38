"""The words of a project's own pages, in German and Arabic: whole, and compiled from what stands beside them."""

import gettext
import re
from pathlib import Path

import pytest
from babel.messages.checkers import num_plurals, python_format
from babel.messages.pofile import read_po
from conftest import ROOT, TEMPLATE_NAME

PROJECT = ROOT / TEMPLATE_NAME
LOCALES = sorted((PROJECT / "locale").glob("*/LC_MESSAGES"))
MARKED = re.compile(r"""\{% translate (?:"([^"]+)"|'([^']+)') %}|_\("([^"]+)"\)""")
BLOCK = re.compile(r"{% blocktranslate[^%]*%}(.*?)(?:{% plural %}(.*?))?{% endblocktranslate %}")


def marked() -> set[str]:
    """What the templates of a project mark, as gettext names it."""
    found: set[str] = set()
    for page in [*PROJECT.glob("assistant/templates/**/*.html"), *PROJECT.glob("users/templates/**/*.html")]:
        found |= {one or two or three for one, two, three in MARKED.findall(page.read_text())}
        found |= {re.sub(r"\{\{ (\w+) }}", r"%(\1)s", one) for one, _ in BLOCK.findall(page.read_text())}
    return found


@pytest.mark.parametrize("folder", LOCALES, ids=lambda folder: folder.parent.name)
def test_the_words_are_whole(folder: Path):
    with (folder / "django.po").open("rb") as file:
        source = read_po(file)
    messages = {
        message.id if isinstance(message.id, str) else message.id[0]: message for message in source if message.id
    }
    assert set(messages) == marked()
    with (folder / "django.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    for name, message in messages.items():
        num_plurals(source, message)
        python_format(source, message)
        if message.pluralizable:
            assert all(message.string)
            assert {compiled.ngettext(*message.id, number) for number in range(200)} <= set(message.string)
        else:
            assert compiled.gettext(name) == message.string != ""


def test_there_is_one_for_each_language_of_the_settings():
    settings = (PROJECT / "config/settings.py").read_text()
    [languages] = re.findall(r"^LANGUAGES = (.*)$", settings, re.MULTILINE)
    assert re.findall(r'\("(\w+)"', languages)[0] == "en"
    assert sorted(re.findall(r'\("(\w+)"', languages)[1:]) == [folder.parent.name for folder in LOCALES]
    strings = PROJECT / "agui/static/agui/words/languages"
    assert {folder.parent.name for folder in LOCALES} <= {path.stem for path in strings.glob("*.js")}
