"""Markdown for people who read in the admin. Text stays text: nothing is loaded, and no link can be followed."""

from collections.abc import Sequence
from typing import Any

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

register = template.Library()


class Renderer(RendererHTML):
    """Writes the address of a link or picture as text behind it, and a heading as a line in bold.

    A model wrote the addresses. Somebody who is signed in to the admin should not be led to them by
    a click.
    """

    def link_open(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        token = tokens[index]
        # An autolink's text is its address
        env["address"] = "" if token.info == "auto" else token.attrGet("href")
        return ""

    def link_close(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        return behind(env.pop("address", ""))

    def image(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        token = tokens[index]
        words = self.renderInlineAsText(token.children, options, env)
        return escape(words or "picture") + behind(token.attrGet("src"))

    def heading_open(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        return '<p class="agui-heading">'  # The page's own headings are its structure

    def heading_close(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        return "</p>\n"

    def th_open(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        return "<th>"  # Without the style of its column, which the site's policy refuses

    def td_open(self, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        return "<td>"


def behind(address: Any) -> str:
    return f' <span class="agui-address">({escape(address)})</span>' if address else ""


# The preset lets HTML through.
reader = MarkdownIt("commonmark", {"html": False}, renderer_cls=Renderer).enable(
    ["table", "strikethrough"]
)


@register.filter
def markdown(text: str) -> SafeString:
    """Write Markdown as HTML."""
    return mark_safe(reader.render(text))  # noqa: S308 -- the library escapes what is text, and HTML is text here
