"""The words of a text, as the offline demo model compares them.

Words are compared without their endings, without fill words, and with a few synonyms.
"""

import re
from functools import lru_cache
from typing import NamedTuple

STOP_WORDS = """
    a about all also am an and any are as at be by call can could did do does for from had has
    have here i in is it its just let like me my need now of on or our please run some step that
    the them then there these think this those to tool tools us use using want was we will with
    would you your
"""
SYNONYMS = {
    "list": "show what which display view see look get",
    "add": "create new insert",
    "delete": "remove clear erase",
    "complete": "finish done",
    "summarize": "summary summarise overview count many",
    "update": "change edit modify",
}

QUOTED = re.compile(r"\"([^\"]*)\"|“([^“”]*)”|(?<!\w)'([^']*)'(?!\w)")
_STOP = frozenset(STOP_WORDS.split())
_WORD = re.compile(r"[^\W_]+")


class Span(NamedTuple):
    """A word or a name in a text."""

    start: int
    end: int
    stem: str = ""


def blank(hit: re.Match[str]) -> str:
    # Patterns run over spaces, and a blank must stop them.
    return "\0" * len(hit[0])


def without_arguments(text: str) -> str:
    """Blank what is quoted or has a key, so that all positions stay."""
    return re.sub(r"(?<![\w-])[\w-]+=\S*", blank, QUOTED.sub(blank, text))


def significant_words(text: str) -> list[Span]:
    """List the words of a text, without fill words, quotes and `key=value`."""
    words = []
    for hit in _WORD.finditer(without_arguments(text)):
        if hit[0].lower() not in _STOP:
            words.append(Span(hit.start(), hit.end(), stem_of(hit[0])))
    return words


def stems_of(text: str) -> list[str]:
    """List the stems of the words in a text or in a name: "deleteTask" has two."""
    words = _WORD.findall(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text))
    significant = [word for word in words if word.lower() not in _STOP]
    return list(map(stem_of, significant or words))


def _strip(word: str) -> str:
    """Cut the endings that English puts on verbs and plurals, roughly."""
    word = re.sub(r"ies$", "y", word.lower())
    word = re.sub(r"(?<=\w{3})(?:ing|ed|es|(?<!s)s)$", "", word)
    word = re.sub(r"(\w)\1$", r"\1", word)
    return re.sub(r"(?<=\w{3})e$", "", word)


_CANONICAL = {
    _strip(alias): _strip(word) for word, aliases in SYNONYMS.items() for alias in aliases.split()
}


@lru_cache(maxsize=10_000)
def stem_of(word: str) -> str:
    """Cut a word's ending, and replace a synonym."""
    stem = _strip(word)
    return _CANONICAL.get(stem, stem)
