"""agui/manual/troubleshooting.md: it has every check, refusal and failure, in the engine's own words."""

import re
from pathlib import Path

import pytest

import agui
from agui import conf, errors
from tests import pages

PAGE = pages.read("troubleshooting.md")
SOURCE = "".join(path.read_text() for path in Path(agui.__file__).parent.rglob("*.py"))


def rows(title: str) -> list[list[str]]:
    """The cells of a section's table, without backticks."""
    section = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    assert section
    lines = re.findall(r"^\| (.*) \|$", section[1], re.M)
    return [[cell.strip("`") for cell in line.split(" | ")] for line in lines[1:]]


def refusals(kind: type[errors.HttpError] = errors.HttpError) -> set[tuple[int, str]]:
    found = {(known.status.value, known.code) for known in kind.__subclasses__()}
    return found.union(*map(refusals, kind.__subclasses__()))


def test_each_system_check_is_there():
    ids = set(re.findall(r'id="(\w+\.[EWI]\d+)"', SOURCE))
    assert {row[0] for row in rows("The server does not start")} == ids


def test_each_refusal_is_there():
    told = {(int(status), code) for status, code, _ in rows("The server refuses a request")}
    assert told == refusals()


def test_each_failure_is_there_with_its_sentence():
    assert {code: sentence for code, sentence, _ in rows("A run fails")} == errors.RUN_ERRORS


@pytest.mark.parametrize("words", re.findall(r"\*\*`([^`]+)`", PAGE))
def test_quoted_words_are_the_engines(words: str):
    # A sentence may be broken in two in the code.
    assert words in re.sub(r'"\n\s+f?"', "", SOURCE)


def test_settings_exist():
    named = set(re.findall(r"`([A-Z]+_[A-Z_]+)`", PAGE))
    engine = {name.upper() for name in conf.EngineSettings.model_fields}
    others = {"INSTALLED_APPS", "ASGI_APPLICATION", "ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS", "BEHIND_PROXY"}
    others |= {"DATABASE_ROUTERS", "USE_TZ", "AGENT_MODEL", "REDIS_URL", "DATABASE_URL", "RUN_ERROR"}
    others |= {"EMAIL_BACKEND", "EMAIL_TIMEOUT", "SITE_URL"}
    assert named - others <= engine
