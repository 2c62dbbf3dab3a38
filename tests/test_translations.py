"""The words of the engine and of a new project's pages: whole, and compiled from what stands beside them."""

import ast
import gettext
import importlib.util
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.catalog import Message
from babel.messages.checkers import num_plurals, python_format
from babel.messages.pofile import read_po
from conftest import ENGINE, ROOT, TEMPLATE_NAME, page_folders
from projects import execute

PROJECT = ROOT / TEMPLATE_NAME
ENGINE_LOCALES = sorted(ENGINE.glob("locale/*/LC_MESSAGES"))
MARKED = re.compile(r"""\{% translate (?:"([^"]+)"|'([^']+)')(?: context "(\w+)")?(?: as \w+)? %}|[ (]_\("([^"]+)"\)""")
BLOCK = re.compile(r"{% blocktranslate[^%]*%}(.*?)(?:{% plural %}(.*?))?{% endblocktranslate %}")
# What marks a text in Python, and the context that it has there.
MARKS = {"_": None, "gettext": None, "gettext_lazy": None, "wording": "agui"}
# Django's own admin translates these.
OF_DJANGO = {(None, "Home")}
PLACE = re.compile(r"\{\w*\}|%\(\w+\)s")

# What the sentences of a language have not, as tests/element/strings.test.mjs has it for the page.
RULES = {
    "ar": "[?,;]",
    "de": r"\b(?:du|dir|dich|dein\w*|euch|euer|eure\w*)\b",
    "es": r"\b(?:tú|tus?|te|ti|contigo|vosotr[oa]s)\b",
    "fr": "[^\u00a0][:»]|«[^\u00a0]|[^\u202f][;!?]|'",
    "ja": "[?!,;]|(?:する|だ|である)。",
}
# The formats of dates, in which letters are no words.
FORMATS = {"D H:i", "D d M, H:i", "d M"}

Key = tuple[str | None, str]
"""The context of a text, and the text."""


def marked_in(pages: Iterator[Path]) -> Iterator[Key]:
    """List what templates mark, as gettext names it."""
    for page in pages:
        text = page.read_text()
        for double, single, context, in_code in MARKED.findall(text):
            yield context or None, double or single or in_code
        for words, _ in BLOCK.findall(text):
            yield None, re.sub(r"\{\{ (\w+) }}", r"%(\1)s", words)


def marked_in_code(modules: Iterator[Path]) -> Iterator[Key]:
    for module in modules:
        for node in ast.walk(ast.parse(module.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
                continue
            texts = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
            if node.func.id in MARKS and texts and isinstance(texts[0], str):
                yield MARKS[node.func.id], texts[0]
            elif node.func.id == "npgettext":
                yield texts[0], texts[1]


def of_project() -> set[Key]:
    pages = (PROJECT.glob(f"{folder}/templates/**/*.html") for folder in ("assistant", "users"))
    return {key for found in pages for key in marked_in(found)}


def of_engine() -> set[Key]:
    pages = (page for page in ENGINE.rglob("*.html") if "agent_template" not in page.parts)
    modules = (module for module in ENGINE.rglob("*.py") if "migrations" not in module.parts)
    return {*marked_in(pages), *marked_in_code(modules)} - OF_DJANGO


def read(folder: Path) -> tuple[object, dict[Key, Message]]:
    with (folder / "django.po").open("rb") as file:
        source = read_po(file)
    named = {(one.context, one.id if isinstance(one.id, str) else one.id[0]): one for one in source if one.id}
    return source, named


@pytest.mark.parametrize("folder", ENGINE_LOCALES, ids=lambda folder: folder.parent.name)
def test_the_words_are_whole(folder: Path):
    source, messages = read(folder)
    assert set(messages) == of_engine() | of_project()
    with (folder / "django.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    for (context, name), message in messages.items():
        num_plurals(source, message)
        python_format(source, message)
        assert not message.fuzzy
        for text in [message.string] if isinstance(message.string, str) else message.string:
            assert name in FORMATS or not re.search(RULES[folder.parent.name], PLACE.sub("", text), re.I), text
        if message.pluralizable:
            assert all(message.string)
            translate = (
                compiled.ngettext if context is None else lambda *given, of=context: compiled.npgettext(of, *given)
            )
            assert {translate(*message.id, number) for number in range(200)} <= set(message.string)
            assert all(set(PLACE.findall(text)) <= set(PLACE.findall(message.id[1])) for text in message.string)
        else:
            translated = compiled.gettext(name) if context is None else compiled.pgettext(context, name)
            assert translated == message.string != ""
            assert sorted(PLACE.findall(translated)) == sorted(PLACE.findall(name)), name


def test_there_is_one_for_each_language_of_the_settings():
    settings = (PROJECT / "config/settings.py").read_text()
    [languages] = re.findall(r"^LANGUAGES = \[(.*?)^\]$", settings, re.MULTILINE | re.DOTALL)
    first, *others = re.findall(r'\("(\w+)"', languages)
    assert first == "en"
    strings = {path.stem for path in (ENGINE / "static/agui/words/languages").glob("*.js")}
    assert sorted(others) == [folder.parent.name for folder in ENGINE_LOCALES]
    assert set(others) <= strings


def test_the_command_reads_the_tables_as_javascript_does(tmp_path: Path):
    """`check_translations` reads the modules' words without Node, in every form that they have."""
    if not shutil.which("node"):
        pytest.skip("Node is not on the PATH")
    spec = importlib.util.spec_from_file_location("word_tables", ENGINE / "management/word_tables.py")
    word_tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(word_tables)
    modules = []
    for folder in page_folders():
        shutil.copytree(folder, tmp_path / folder.name)
        for module in (tmp_path / folder.name).rglob("*.js"):
            if re.search(r"^export const (\w+_WORDS|STRINGS) ", module.read_text(), re.MULTILINE):
                modules.append(module)
    assert len(modules) > 30
    script = tmp_path / "read.mjs"
    script.write_text("""
        const read = {};
        for (const module of process.argv.slice(2)) {
          const exported = await import(module);
          const tables = Object.entries(exported).filter(([name]) => /_WORDS$|^STRINGS$/.test(name));
          read[module] = Object.assign({}, ...tables.map(([, table]) => table));
        }
        console.log(JSON.stringify(read));
    """)
    by_node = json.loads(execute(tmp_path, "node", script, *modules).stdout)
    for module in modules:
        table, node = word_tables.read_table(module), by_node[str(module)]
        # A module may take in the words of another table: the command reads them there.
        assert table.items() <= node.items(), module
        assert module.parent.name != "languages" or node.keys() == table.keys()
