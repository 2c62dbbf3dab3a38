"""Which tools a message means to the offline demo model: those that it names, or resembles most.

Words are compared without their endings, without fill words, and with a few synonyms.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from pydantic_ai.tools import ToolDefinition

MAX_CALLS = 20  # of tools in one answer
MAX_NAMES = 50  # of a tool's arguments
MAX_DESCRIPTION_CHARS = 500  # of a tool, which may be a client's
# the score from which a tool is called: one word of its name that no other tool has is 1
ENOUGH = 0.75

STOP_WORDS = """
    a about all also am an and any are as at be by call can could did do does for from had has have here i in
    is it its just let like me my need now of on or our please run some step that the them then there these
    think this those to tool tools us use using want was we will with would you your
"""
SYNONYMS = {
    "list": "show what which display view see look get",
    "add": "create new insert",
    "delete": "remove clear erase",
    "complete": "finish done",
    "summarize": "summary summarise overview count many",
    "update": "change edit modify",
}

_STOP = frozenset(STOP_WORDS.split())
_WORD = re.compile(r"[^\W_]+")
QUOTED = re.compile(r"\"([^\"]*)\"|“([^“”]*)”|(?<!\w)'([^']*)'(?!\w)")
_CONNECTED = re.compile(
    r"(?:[,;.\n]|\b(?:and|then|also|plus)\b)\s*(?:(?:please|then|also)\s+)*$", re.I
)


class Match(NamedTuple):
    """A tool that a message asks for, the text up to the end of its name, and the text after it."""

    tool: ToolDefinition
    before: str
    after: str


class Choice(NamedTuple):
    """The tools to call, or else those between which the user must choose."""

    matches: Sequence[Match] = ()
    tied: Sequence[ToolDefinition] = ()
    reason: str = ""


class Span(NamedTuple):
    """A word or a name in a text."""

    start: int
    end: int
    stem: str


def choose_tools(text: str, tools: Sequence[ToolDefinition]) -> Choice:
    """Find the tools that the text names; else the one that it resembles most, or up to three alike."""
    words = significant_words(text)
    if named := _named(text, words, tools):
        ends = [span.start for span, _ in named[1:]] + [len(text)]
        starts = [0] + [span.start for span, _ in named[1:]]
        matches = [
            Match(tool, text[start : span.end], text[span.end : end])
            for (span, tool), start, end in zip(named, starts, ends, strict=True)
        ]
        return Choice(
            matches, reason=f"The message names {names_of([match.tool for match in matches])}."
        )
    scores = _scores({word.stem for word in words}, tools)
    ranking = ", ".join(
        f"`{tool.name}` {score:.2f}" for tool, score in zip(tools, scores, strict=True) if score
    )
    reason = f"Words shared with the tools, rare ones count more: {ranking or 'none'}."
    best = max(scores, default=0)
    tied = [tool for tool, score in zip(tools, scores, strict=True) if score == best]
    if best * len(tied) < ENOUGH or len(tied) > 3:
        return Choice(reason=reason)
    if len(tied) > 1:
        return Choice(tied=tied, reason=reason)
    name = stems_of(tied[0].name)
    said = [word for word in words if word.stem in name]
    # What follows the name is taken for free text, but not where its words are scattered.
    in_order = said and [word.stem for word in said] == [
        stem for stem in name if stem in {word.stem for word in said}
    ]
    end = said[-1].end if in_order else len(text)
    return Choice([Match(tied[0], text[:end], text[end:])], reason=reason)


def _named(
    text: str, words: Sequence[Span], tools: Sequence[ToolDefinition]
) -> list[tuple[Span, ToolDefinition]]:
    """Where the text has a tool's name, or its words in a row, but for one; the longest of those that overlap."""
    found: list[tuple[Span, ToolDefinition]] = []
    plain, names = without_arguments(text), {stem for tool in tools for stem in stems_of(tool.name)}
    for tool in tools:
        exact = re.finditer(rf"(?<![\w-]){re.escape(tool.name)}(?![\w-])", plain, re.I)
        found += [(Span(hit.start(), hit.end(), "exact"), tool) for hit in exact]
        rows = _rows(words, stems_of(tool.name))
        # A word between may be another tool's: "show a chart of my tasks" is `chart_tasks`, not
        # `list_tasks`.
        others = names - _own_stems(tool) if rows else set()
        found += [
            (Span(row[0].start, row[-1].end, ""), tool)
            for row in rows
            if not any(word.stem in others for word in row)
        ]
    chosen: list[tuple[Span, ToolDefinition]] = []
    taken = bytearray(len(text))
    for span, tool in sorted(
        found, key=lambda item: (item[0].start - item[0].end, item[0].stem != "exact")
    ):
        if 1 not in taken[span.start : span.end]:
            chosen.append((span, tool))
            taken[span.start : span.end] = b"\1" * (span.end - span.start)
    chosen.sort(key=lambda item: item[0].start)
    # In "add task Complete the form" the second name is an argument: one more call needs an "and".
    called = [
        (span, tool)
        for index, (span, tool) in enumerate(chosen)
        if not index
        or "_" in text[span.start : span.end]
        or _CONNECTED.search(text[max(0, span.start - 40) : span.start])
    ]
    return called[:MAX_CALLS]


def _rows(words: Sequence[Span], stems: list[str]) -> list[Sequence[Span]]:
    """Where the words of a name follow one another, with at most one other word between them."""
    starts = [index for index, word in enumerate(words) if stems and word.stem == stems[0]]
    runs = [words[start : start + len(stems) + more] for start in starts for more in (0, 1)]
    return [run for run in runs if _is_row([word.stem for word in run], stems)]


def _is_row(run: list[str], stems: list[str]) -> bool:
    """Whether the run is all of the stems, or would be without a word that is neither the first nor the last."""
    if len(run) != len(stems) + 1 or len(run) < 3:
        return run == stems
    same = next((index for index, stem in enumerate(stems) if run[index] != stem), len(stems))
    between = max(1, min(same, len(run) - 2))
    return run[:between] + run[between + 1 :] == stems


def _own_stems(tool: ToolDefinition) -> set[str]:
    properties = tool.parameters_json_schema.get("properties")
    names = list(properties)[:MAX_NAMES] if isinstance(properties, dict) else []
    return {stem for name in (tool.name, *names) for stem in stems_of(name[:MAX_DESCRIPTION_CHARS])}


def _scores(stems: set[str], tools: Sequence[ToolDefinition]) -> list[float]:
    """Weigh the words that each tool shares with the message: the fewer tools have one, the more it says."""
    names = [set(stems_of(tool.name)) for tool in tools]
    texts = [
        set(stems_of((tool.description or "")[:MAX_DESCRIPTION_CHARS])) | name
        for tool, name in zip(tools, names, strict=True)
    ]
    sharing = Counter(stem for text in texts for stem in stems & text)

    def weight(stem: str, name: set[str]) -> float:
        # "What" and "show" are in many questions: alone they mean no tool.
        own = 1.0 if stem in name and stem != "list" else 0.5
        return own / sharing[stem]

    return [
        sum(weight(stem, name) for stem in sorted(stems & text)) + (len(name) > 1 and name <= stems)
        for name, text in zip(names, texts, strict=True)
    ]


def blank(hit: re.Match[str]) -> str:
    return "\0" * len(hit[0])  # not a space, or a pattern could run into a quote


def without_arguments(text: str) -> str:
    """Blank what is quoted or has a key, so that all positions stay."""
    return re.sub(r"(?<![\w-])[\w-]+=\S*", blank, QUOTED.sub(blank, text))


def significant_words(text: str) -> list[Span]:
    hits = _WORD.finditer(without_arguments(text))
    return [
        Span(hit.start(), hit.end(), stem_of(hit[0])) for hit in hits if hit[0].lower() not in _STOP
    ]


def stems_of(text: str) -> list[str]:
    words = _WORD.findall(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text))
    return [stem_of(word) for word in words if word.lower() not in _STOP] or [
        stem_of(word) for word in words
    ]


def _strip(word: str) -> str:
    """Cut the endings that English puts on verbs and plurals, roughly."""
    word = re.sub(r"(?<=\w{3})(?:ing|ed|es|(?<!s)s)$", "", re.sub(r"ies$", "y", word.lower()))
    return re.sub(r"(?<=\w{3})e$", "", re.sub(r"(\w)\1$", r"\1", word))


_CANONICAL = {
    _strip(alias): _strip(word) for word, aliases in SYNONYMS.items() for alias in aliases.split()
}


@lru_cache(maxsize=10_000)
def stem_of(word: str) -> str:
    return _CANONICAL.get(_strip(word), _strip(word))


def names_of(tools: Sequence[ToolDefinition]) -> str:
    return " and ".join(f"`{tool.name}`" for tool in tools)
