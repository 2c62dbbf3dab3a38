"""Markdown for readers in the admin: it loads nothing, and has no links to follow."""

import re
from collections.abc import Sequence
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.parser_inline import ParserInline
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Scanned
from markdown_it.token import Token

MAX_FORMATTED_CHARS = 100_000
# A bracket takes as long as so many other characters: it may begin a link in each of the links that
# it may be in.
CHARS_OF_BRACKET = 20

# As in markdown-shapes.js: Chinese, Japanese and Korean letters and punctuation, by their blocks,
# perhaps with other punctuation between them and a mark.
CJK = (
    "[\u1100-\u11ff\u20a9\u2329\u232a\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uffee\U00016fe0-\U0001b2ff\U0001d300-\U0001d37f"
    "\U0001f200\U0001f202-\U0001f265\U00020000-\U0003fffd]"
)
CJK_BEFORE = re.compile(rf"{CJK}(?:[^\w\s]|_){{0,11}}\Z")
CJK_AFTER = re.compile(rf"(?:[^\w\s]|_){{0,11}}{CJK}")


class InlineState(StateInline):
    """Reads stars and tildes beside Chinese, Japanese and Korean as those between letters."""

    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:
        scanned = super().scanDelims(start, canSplitWord)
        end = start + scanned.length
        before, after = self.src[max(start - 12, 0) : start], self.src[end : end + 12]
        if not canSplitWord or not (CJK_BEFORE.search(before) or CJK_AFTER.match(after)):
            return scanned
        can_open, can_close = after[:1].strip(), before[-1:].strip()
        return Scanned(bool(can_open), bool(can_close), scanned.length)


class InlineParser(ParserInline):
    def parse(self, src: str, md: MarkdownIt, env: Any, tokens: list[Token]) -> list[Token]:
        state = InlineState(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


class Renderer(RendererHTML):
    """Writes the address of a link or picture as text after it, and a heading as a bold line.

    A model wrote the addresses. A click must not lead a user of the admin to one of them.
    """

    def link_open(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        token = tokens[index]
        if token.info != "auto":  # The text of an autolink is its address.
            env["address"] = token.attrGet("href")
        return ""

    def link_close(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        return shown_address(env.pop("address", ""))

    def image(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        token = tokens[index]
        description = self.renderInlineAsText(token.children, options, env)
        return escape(description or "picture") + shown_address(token.attrGet("src"))

    def heading_open(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        # A heading of the text must not look like a heading of the page.
        return '<p class="agui-heading">'

    def heading_close(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        return "</p>\n"

    def th_open(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        return "<th>"  # The site's policy refuses the style that the library would write.

    def td_open(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        return "<td>"


def shown_address(address: Any) -> str:
    if not address:
        return ""
    return f' <span class="agui-address">({escape(address)})</span>'


def bounded_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read a table, unless the text could have more cells than characters.

    The library adds the cells that rows lack, so a wide head above many short lines takes long.
    """
    if start + 1 >= end:
        return False
    columns = state.src.count("|", state.bMarks[start + 1], state.eMarks[start + 1])
    lines = len(state.bMarks) - start
    return columns * lines <= len(state.src) and table(state, start, end, silent)


# The preset would let HTML through.
reader = MarkdownIt("commonmark", {"html": False}, renderer_cls=Renderer)
reader.inline = InlineParser()
reader.block.ruler.at("table", bounded_table, {"alt": ["paragraph", "reference"]})
reader.enable(["table", "strikethrough"])


def to_html(text: str) -> SafeString:
    """Write Markdown as HTML."""
    # The library escapes text, and takes HTML for text here.
    return mark_safe(reader.render(text))  # noqa: S308


def format_last(lines: Sequence[Any]) -> None:
    """Format the texts of the last lines, as many as take little time."""
    chars = 0
    for line in reversed(lines):
        chars += len(line.text) + CHARS_OF_BRACKET * line.text.count("[")
        if chars <= MAX_FORMATTED_CHARS:
            line.html = to_html(line.text)
