"""Find English that docs/contributing.md rules out, in pages, docstrings, comments and messages.

    python benchmarks/prose.py

Prints `file:line: rule: text` for each finding, and nothing for clean prose.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PROJECT = ROOT / "{{cookiecutter.project_slug}}"
CODE = re.compile(r"`[^`]*`")

# Each rule is a pattern for prose without code.
RULES = {
    "whoever": r"\b([Ww]hoever|[Ww]hosoever|whichever)\b",
    "they, for a user": r"\b(he|his|him|himself|she|her)\b",
    "fronted object": r"(?:^|[.:;] )(Of|To|From) (a|an|the|each|every|all|its|one)\b[^,.;:]*\b"
    r"(is|are|has|have|it|they|there|only|nothing|none|no)\b",
    "if, not where": r"(?:^|[.;] )Where (a|an|the|there|it|no|nothing|nobody|none)\b[^.?]*,",
    "who as a subject": r"(?:^|[.;] )Who (?!may\b|can\b|is who)[^.?]*\.",
}
MORE_RULES = {
    "instead of": r"\bin the place of\b",
    "except": r"\bbut for\b",
    "must, should or will": r"\b(is|are) (not )?to be\b",
    "if, not where": r"\bwhere (there|nobody|somebody)\b",
    "fronted object": r"(?:^|[.;:] )(Whose|Whom|Of (several|many|what|those|which))\b",
    "otherwise": r"[,;:] else\b|\bor else\b",
    "everything else": r"\ball else\b",
    "verb first": r"(?:^|[.;:] )(Neither|Nor|So) (is|are|does|do|has|have)\b",
}
# Comments have few words, and none to spare for a pronoun without its noun.
COMMENT_RULES = {
    "pronoun first": r"^((It|That|They)('s|'ll)?|One (is|has|of several)|These (are|have|call|import|look)) ",
}


class Prose(NamedTuple):
    path: Path
    line: int
    text: str
    is_comment: bool


class Finding(NamedTuple):
    path: Path
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.rule}: {self.text}"


def findings(prose: Prose) -> Iterator[Finding]:
    text = CODE.sub("`code`", prose.text)
    rules = [*RULES.items(), *MORE_RULES.items()]
    if prose.is_comment:
        rules += COMMENT_RULES.items()
    for rule, pattern in rules:
        if match := re.search(pattern, text):
            yield Finding(prose.path, prose.line, rule, excerpt(text, match))


def excerpt(text: str, match: re.Match[str]) -> str:
    return text[max(match.start() - 20, 0) : match.end() + 40].strip()


def in_page(path: Path) -> Iterator[Prose]:
    """Read the paragraphs, list items and cells of a page, without its code."""
    is_code, paragraph, start = False, [], 1
    for number, line in enumerate([*path.read_text().splitlines(), ""], 1):
        fence = line.lstrip().startswith("```")
        is_heading = line.startswith("#")
        is_new = not line.strip() or fence or is_code or is_heading or re.match(r"\s*([-*|]|\d+\.)\s", line)
        if is_new and paragraph:
            yield Prose(path, start, " ".join(paragraph), False)
            paragraph = []
        if fence:
            is_code = not is_code
        elif not is_code and not is_heading and line.strip() and not line.startswith("    "):
            start = start if paragraph else number
            paragraph += line.replace("|", " ").strip(" -*#").split("\n")


def in_python(path: Path) -> Iterator[Prose]:
    source = path.read_text()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            text = node.value.value
            if isinstance(text, str):
                yield Prose(path, node.lineno, " ".join(text.split()), False)
    yield from comments(path, python_comments(source))


def python_comments(source: str) -> Iterator[tuple[int, int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not re.match(r"#( noqa|!| type:| ---)", token.string):
            yield *token.start, token.string.lstrip("# ")


def in_javascript(path: Path) -> Iterator[Prose]:
    yield from comments(path, javascript_comments(path.read_text()))


def javascript_comments(source: str) -> Iterator[tuple[int, int, str]]:
    for number, line in enumerate(source.splitlines(), 1):
        if match := re.match(r"(\s*(?:/\*\*?|\*|//)|.*[;{,)] //) ?([^@].*)", line):
            yield number, match.start(2), match[2].removesuffix("*/").strip()


def comments(path: Path, lines: Iterator[tuple[int, int, str]]) -> Iterator[Prose]:
    """Join the lines of a comment."""
    text, start, last, column = "", 0, -1, -1
    for number, at, words in lines:
        if text and number == last + 1 and at == column:
            text += f" {words}"
        else:
            if text:
                yield Prose(path, start, text, True)
            text, start, column = words, number, at
        last = number
    if text:
        yield Prose(path, start, text, True)


def all_prose() -> Iterator[Prose]:
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *PROJECT.rglob("*.md")]
    for path in sorted(pages):
        yield from in_page(path)
    for folder in (PROJECT, *(ROOT / name for name in ("installer", "hooks", "tests", "benchmarks"))):
        for path in sorted(folder.rglob("*.py")):
            if "cookiecutter." not in path.read_text():
                yield from in_python(path)
    for path in sorted([*PROJECT.rglob("*.js"), *(ROOT / "tests").rglob("*.mjs")]):
        yield from in_javascript(path)


def all_findings() -> list[Finding]:
    return [finding for prose in all_prose() for finding in findings(prose)]


def main() -> int:
    found = all_findings()
    for finding in found:
        print(finding)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
