"""The choice of tools by the offline demo model: those that a message names, or resembles most."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pydantic_ai.tools import ToolDefinition

from agui.contrib.demo.words import (
    Span,
    significant_words,
    stems_of,
    without_arguments,
)

MAX_CALLS = 20  # of tools in one answer
MAX_NAMES = 50  # of a tool's arguments
MAX_DESCRIPTION_CHARS = 500  # of a tool, which may be a client's
# The score from which a tool is called. A word that only one tool has in its name counts 1.
ENOUGH = 0.75

_CONNECTED = re.compile(
    r"(?:[,;.\n]|\b(?:and|then|also|plus)\b)\s*(?:(?:please|then|also)\s+)*$", re.I
)

Tools = Sequence[ToolDefinition]
Mention = tuple[Span, ToolDefinition]
"""The place at which a text names a tool."""


class Match(NamedTuple):
    """A tool that a message asks for, the text up to the end of its name, and the text after it."""

    tool: ToolDefinition
    before: str
    after: str


class Choice(NamedTuple):
    """The tools to call, or those between which the user must choose."""

    matches: Sequence[Match] = ()
    tied: Tools = ()
    reason: str = ""


def choose_tools(text: str, tools: Tools) -> Choice:
    """Choose the tools that the text names, or the one that it resembles most.

    If up to three tools are equally likely, the user has to choose.
    """
    words = significant_words(text)
    mentions = [*_exact_mentions(text, tools), *_loose_mentions(words, tools)]
    called = _called(text, _without_overlaps(text, mentions))
    if called:
        return _choose_named(text, called[:MAX_CALLS])
    return _choose_similar(text, words, tools)


def _choose_named(text: str, mentions: Sequence[Mention]) -> Choice:
    edges = [span.start for span, _ in mentions] + [len(text)]
    edges[0] = 0
    matches = []
    for index, (span, tool) in enumerate(mentions):
        before = text[edges[index] : span.end]
        after = text[span.end : edges[index + 1]]
        matches.append(Match(tool, before, after))
    names = names_of([tool for _, tool in mentions])
    return Choice(matches, reason=f"The message names {names}.")


def _choose_similar(text: str, words: Sequence[Span], tools: Tools) -> Choice:
    scores = _scores({word.stem for word in words}, tools)
    best = max(scores, default=0)
    tied = []
    ranking = []
    for tool, score in zip(tools, scores, strict=True):
        if score == best:
            tied.append(tool)
        if score:
            ranking.append(f"`{tool.name}` {score:.2f}")
    ranked = ", ".join(ranking) or "none"
    reason = f"Words shared with the tools, rare ones count more: {ranked}."
    if best * len(tied) < ENOUGH or len(tied) > 3:
        return Choice(reason=reason)
    if len(tied) > 1:
        return Choice(tied=tied, reason=reason)
    end = _end_of_name(text, words, stems_of(tied[0].name))
    return Choice([Match(tied[0], text[:end], text[end:])], reason=reason)


def _end_of_name(text: str, words: Sequence[Span], name: Sequence[str]) -> int:
    """Find where a tool's name ends: free text may follow it, unless its words are scattered."""
    spoken = [word for word in words if word.stem in name]
    stems = [word.stem for word in spoken]
    if spoken and stems == [stem for stem in name if stem in stems]:
        return spoken[-1].end
    return len(text)


def _exact_mentions(text: str, tools: Tools) -> Iterator[Mention]:
    plain = without_arguments(text)
    for tool in tools:
        for hit in re.finditer(rf"(?<![\w-]){re.escape(tool.name)}(?![\w-])", plain, re.I):
            yield Span(hit.start(), hit.end()), tool


def _loose_mentions(words: Sequence[Span], tools: Tools) -> Iterator[Mention]:
    """Find the words of tools' names in a row, with at most one other word between them."""
    names: set[str] = set()
    for tool in tools:
        names.update(stems_of(tool.name))
    for tool in tools:
        rows = _rows(words, stems_of(tool.name))
        if not rows:
            continue
        # The word between may belong to another tool: "show a chart of my tasks" means
        # `chart_tasks`, not `list_tasks`.
        others = names - _own_stems(tool)
        for row in rows:
            if not any(word.stem in others for word in row):
                yield Span(row[0].start, row[-1].end), tool


def _without_overlaps(text: str, mentions: Sequence[Mention]) -> list[Mention]:
    """Keep the longest of the mentions that overlap, in the order of the text.

    Of equally long ones, the first is kept.
    """
    chosen: list[Mention] = []
    taken = bytearray(len(text))
    for span, tool in sorted(mentions, key=lambda mention: mention[0].start - mention[0].end):
        if 1 not in taken[span.start : span.end]:
            chosen.append((span, tool))
            taken[span.start : span.end] = b"\1" * (span.end - span.start)
    chosen.sort(key=lambda mention: mention[0].start)
    return chosen


def _called(text: str, mentions: Sequence[Mention]) -> list[Mention]:
    """Keep the mentions that ask for a call.

    In "add task Complete the form" the second name is an argument: one more call needs an "and".
    """
    called = list(mentions[:1])
    for span, tool in mentions[1:]:
        leading = text[max(0, span.start - 40) : span.start]
        if "_" in text[span.start : span.end] or _CONNECTED.search(leading):
            called.append((span, tool))
    return called


def _rows(words: Sequence[Span], stems: list[str]) -> list[Sequence[Span]]:
    """Find where the words of a name follow one another, with at most one other word between."""
    rows: list[Sequence[Span]] = []
    spoken = [word.stem for word in words]
    for start, stem in enumerate(spoken):
        if not stems or stem != stems[0]:
            continue
        for end in (start + len(stems), start + len(stems) + 1):
            if _is_row(spoken[start:end], stems):
                rows.append(words[start:end])
    return rows


def _is_row(row: list[str], stems: list[str]) -> bool:
    """Whether the row has all stems in order, with at most one other word in between."""
    if len(row) != len(stems) + 1 or len(row) < 3:
        return row == stems
    between = 1
    while between < len(row) - 2 and row[between] == stems[between]:
        between += 1
    return row[:between] + row[between + 1 :] == stems


def _own_stems(tool: ToolDefinition) -> set[str]:
    """The stems in the names of a tool and of its arguments."""
    names = [tool.name]
    properties = tool.parameters_json_schema.get("properties")
    if isinstance(properties, dict):
        names += list(properties)[:MAX_NAMES]
    stems: set[str] = set()
    for name in names:
        stems.update(stems_of(name[:MAX_DESCRIPTION_CHARS]))
    return stems


def _scores(stems: set[str], tools: Tools) -> list[float]:
    """Weigh the words that each tool shares with the message: a rarer word counts more."""
    names: list[set[str]] = []
    shared: list[set[str]] = []
    sharing: Counter[str] = Counter()
    for tool in tools:
        name = set(stems_of(tool.name))
        description = (tool.description or "")[:MAX_DESCRIPTION_CHARS]
        words = stems & name.union(stems_of(description))
        names.append(name)
        shared.append(words)
        sharing.update(words)
    scores = []
    for name, words in zip(names, shared, strict=True):
        score = 0.0
        for stem in sorted(words):
            # "What" and "show" are in many questions: alone they mean no tool.
            is_own = stem in name and stem != "list"
            score += (1.0 if is_own else 0.5) / sharing[stem]
        if len(name) > 1 and name <= stems:
            score += 1
        scores.append(score)
    return scores


def names_of(tools: Tools) -> str:
    return " and ".join(f"`{tool.name}`" for tool in tools)
