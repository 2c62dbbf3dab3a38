"""`check_translations` tells what a translation lacks, and reads tables and catalogs without other programs."""

import shutil
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as project
from django.core.management import CommandError, call_command

from agui.management.catalogs import read_catalog
from agui.management.word_tables import LANGUAGES, Unreadable, english, read_table

LOCALE = Path(__file__).parent / "locale"

if len(project.LANGUAGES) < 2:
    pytest.skip("The project has one language", allow_module_level=True)


def problems(*arguments: str, **options: Any) -> list[str]:
    out = StringIO()
    with pytest.raises(CommandError) as refused:
        call_command("check_translations", *arguments, stdout=out, **options)
    lines = out.getvalue().splitlines()
    assert refused.value.returncode == 1
    assert str(refused.value) == f"Problems: {len(lines)}."
    return lines


def spoil(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def test_the_languages_of_the_project_lack_nothing():
    out = StringIO()
    call_command("check_translations", stdout=out)
    assert out.getvalue() == "Complete: ar, de, es, fr, ja.\n"


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ('  send: "Envoyer",\n', "", "fr: words.js lacks 'send': 'Send'."),
        ('  send: "', '  sent: "Envoyé",\n  send: "', "fr: words.js has 'sent', which the chat does not know."),
        ("{name} est joint.", "Joint.", "fr: words.js: 'attached' has other placeholders than '{name} is attached.'."),
        ('  send: "Envoyer"', '  send: { other: "Envoyer" }', "'send' depends on no number, so it is one text."),
        ('"{count} sources" }', '"{count} sources", few: "{count}", plus: "x" }', "the forms of 'sources' are"),
        ('  send: "Envoyer"', "  send: (1)", "words.js, line"),
        ('  send: "Envoyer"', "  send: other", "words.js: the value of 'send' is no text."),
    ],
)
def test_a_table_of_the_page(tmp_path: Path, old: str, new: str, found: str):
    table = Path(shutil.copy(LANGUAGES / "fr.js", tmp_path / "words.js"))
    spoil(table, old, new)
    [line] = problems("fr", table=table)
    assert found in line


def test_a_language_without_a_table_or_catalogs():
    first, *lines = problems("nl")
    assert first == "nl: the chat has no table. Write one like words/languages/de.js, and name it in --table."
    assert "nl: agui/locale lacks 'The file is empty.'." in lines
    assert any(line.endswith("locale lacks 'Sign out'.") for line in lines)


@pytest.fixture
def catalog(tmp_path: Path, settings: Any) -> Path:
    """Catalogs of a project in German and French; the one to spoil is the French one."""
    shutil.copytree(LOCALE, tmp_path / "locale")
    settings.LOCALE_PATHS = [tmp_path / "locale"]
    return tmp_path / "locale/fr/LC_MESSAGES/django.po"


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ('msgid "Sign out"\nmsgstr "Se déconnecter"\n', "", ["locale lacks 'Sign out'"]),
        ('msgstr "Se déconnecter"', 'msgstr ""', ["'Sign out' has no translation"]),
        ('msgid "Sign out"', '#, fuzzy\nmsgid "Sign out"', ["'Sign out' has no translation, or an uncertain one"]),
        ("Compte de %(user)s", "Compte", ["has other placeholders", "is not compiled"]),
        ('msgstr "Se déconnecter"', 'msgstr "Quitter"', ["is not compiled: run `manage.py compilemessages`"]),
        ('msgstr[1] "La', 'msgstr[1] ""\nmsgstr[2] "La', ["has no translation"]),
    ],
)
def test_a_catalog_of_the_project(catalog: Path, old: str, new: str, found: list[str]):
    spoil(catalog, old, new)
    for line, words in zip(problems("fr"), found, strict=True):
        assert words in line


def test_a_catalog_of_the_project_may_have_the_engines_sentences(catalog: Path):
    own = catalog.parent.parent.parent / "nl/LC_MESSAGES/django.po"
    own.parent.mkdir(parents=True)
    own.write_text(
        'msgid ""\nmsgstr "Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n\n'
        'msgid "The file is empty."\nmsgstr "Leeg."\n'
    )
    lines = problems("nl")
    assert not any("The file is empty." in line for line in lines)
    assert any("nl/LC_MESSAGES/django.po is not compiled" in line for line in lines)


def test_a_catalog_is_read_as_gettext_reads_it(tmp_path: Path):
    path = tmp_path / "django.po"
    path.write_text(
        'msgid ""\nmsgstr ""\n"Plural-Forms: nplurals=3; plural=0;\\n"\n\n'
        '#: a.py\n#, python-format\nmsgctxt "menu"\nmsgid "a \\"b\\""\n" c"\nmsgstr "d"\n"\\te"\n\n'
        'msgid "one"\nmsgid_plural "many"\nmsgstr[0] "x"\nmsgstr[1] "y"\nmsgstr[2] "z"\n\n'
        '#~ msgid "old"\n#~ msgstr "alt"\n'
    )
    catalog = read_catalog(path)
    assert catalog.forms == 3
    assert {key: message.translations for key, message in catalog.messages.items()} == {
        'menu\4a "b" c': ["d\te"],
        "one": ["x", "y", "z"],
    }


def test_a_table_is_read_as_javascript_reads_it(tmp_path: Path):
    module = tmp_path / "words.js"
    module.write_text(
        "// export const OLD_WORDS = { a: 1 };\nexport const SOME_WORDS = {\n  /** Why. */\n  ...TIME_WORDS,\n"
        '  a: \'it\\\'s\', // here\n  "b": "x " +\n    "\\u00e9\\n",\n'
        '  c: { one: `1`, other: "n" }\n};\nexport const MORE = {};\n'
    )
    assert read_table(module) == {"a": "it's", "b": "x é\n", "c": {"one": "1", "other": "n"}}
    module.write_text("export const SOME_WORDS = { a: 'b',\n")
    with pytest.raises(Unreadable):
        read_table(module)
    assert english()["send"] == "Send"
