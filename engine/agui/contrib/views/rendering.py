"""A template with its values: as HTML, as the text of that, and the calls of its buttons.

Escaping is the first boundary between values, which anybody may have written, and the template,
which is the project's. This module checks what came out: a card has no script, no form and no
frame, and only `{% call_tool %}` makes a button call a tool. The frame is the second boundary.
"""

import json
import re
from contextvars import ContextVar
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

from django.core.serializers.json import DjangoJSONEncoder
from django.template import Context
from django.template.backends.django import Template
from django.template.loader import get_template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, get_language_bidi

from agui.lazy_import import LazyImport

if TYPE_CHECKING:
    from agui.tools import questions
else:
    # Django's checks import the template tags, and with this pydantic-ai.
    questions = LazyImport("agui.tools.questions")

MAX_LABEL_CHARS = 100
MAX_ARGUMENTS_CHARS = 2000
FORBIDDEN = frozenset({
    "applet", "base", "embed", "form", "frame", "frameset", "iframe", "link", "meta", "object",
    "portal", "script",
})  # fmt: skip
UNREAD = frozenset({"style", "title", "template", "button"})
"""What is not among the words of a card."""
VOID = frozenset({"area", "br", "col", "hr", "img", "input", "source", "track", "wbr"})
INLINE = frozenset({
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "em", "i", "kbd", "mark", "q", "s", "small",
    "span", "strong", "sub", "sup", "u",
})  # fmt: skip
ADDRESS = re.compile(r"(https?:|mailto:|tel:|[/?#]|[^:]*\Z)", re.IGNORECASE)
IMAGE = re.compile(r"data:image/(png|jpeg|gif|webp|svg\+xml)[;,]", re.IGNORECASE)

_calls: ContextVar[set[tuple[str, str]] | None] = ContextVar("calls", default=None)
"""The calls that the template which is being rendered offers."""


def call_attributes(tool: str, arguments: dict[str, Any]) -> SafeString:
    """Write the attributes of a button that calls a tool, and allow that call."""
    text = json.dumps(arguments, cls=DjangoJSONEncoder, ensure_ascii=False)
    if len(text) > MAX_ARGUMENTS_CHARS:
        raise ValueError(
            f"The arguments of {tool!r} have {len(text)} characters: give ids, not texts."
        )
    calls = _calls.get()
    if calls is not None:
        calls.add((tool, text))
    return format_html('type="button" data-tool="{}" data-arguments="{}"', tool, text)


def render(name: str, values: dict[str, Any]) -> dict[str, Any]:
    """Render a template as the content of a card. Raises ValueError for what a card can't have."""
    template = get_template(name)
    if not isinstance(template, Template):
        raise ValueError(f"{name!r} is no Django template: these alone are escaped for sure.")
    calls: set[tuple[str, str]] = set()
    token = _calls.set(calls)
    try:
        html = template.template.render(Context(values, autoescape=True))
    finally:
        _calls.reset(token)
    reader = _Reader(name, calls)
    reader.feed(html)
    reader.close()
    return {
        "html": html,
        "text": reader.words(),
        "actions": reader.actions,
        "lang": get_language() or "",
        "dir": "rtl" if get_language_bidi() else "ltr",
    }


class _Reader(HTMLParser):
    """Reads what was rendered, and refuses what is not a card."""

    def __init__(self, name: str, calls: set[tuple[str, str]]) -> None:
        super().__init__()
        self._name = name
        self._calls = calls
        self._unread: list[str] = []
        self._pieces: list[str] = []
        self._label: list[str] | None = None
        self.actions: list[dict[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {key: value or "" for key, value in attrs}
        self._check(tag, attributes)
        if tag in UNREAD:
            self._unread.append(tag)
        elif tag not in INLINE:
            self._pieces.append("\n")
        if tag == "button" and "data-tool" in attributes:
            self._add(attributes)

    def handle_endtag(self, tag: str) -> None:
        if tag == "button" and self._label is not None:
            self._end_label()
        if tag in self._unread:
            del self._unread[self._unread.index(tag) :]
        elif tag not in INLINE and tag not in VOID:
            self._pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if self._label is not None:
            self._label.append(data)
        if not self._unread:
            self._pieces.append(re.sub(r"\s+", " ", data))

    def close(self) -> None:
        super().close()
        if self._label is not None:
            self._end_label()

    def words(self) -> str:
        lines = [re.sub(r" +", " ", line).strip() for line in "".join(self._pieces).split("\n")]
        return "\n".join(line for line in lines if line)

    def _check(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in FORBIDDEN:
            raise ValueError(f"{self._name!r} has a <{tag}>, which a card can't have.")
        for key, value in attributes.items():
            if key.startswith("on") or key in ("srcdoc", "formaction"):
                raise ValueError(f"{self._name!r} has the attribute {key!r}: cards run no script.")
            if key in ("href", "xlink:href") and not ADDRESS.match(value.strip()):
                raise ValueError(f"{self._name!r} has a link to {value[:40]!r}: use https.")
            if key in ("src", "srcset", "poster") and not IMAGE.match(value):
                raise ValueError(
                    f"{self._name!r} loads {value[:40]!r}: a card is one file. Put images into it "
                    "as data: addresses."
                )
        if "data-tool" not in attributes:
            return
        call = (attributes["data-tool"], attributes.get("data-arguments", ""))
        if tag != "button" or call not in self._calls:
            raise ValueError(
                f"{self._name!r} has a call of {call[0][:40]!r} that no template tag has made: "
                "write <button {% call_tool ... %}>."
            )

    def _add(self, attributes: dict[str, str]) -> None:
        self._label = [f"{attributes['aria-label']} "] if attributes.get("aria-label") else []
        action = {"tool": attributes["data-tool"], "arguments": attributes["data-arguments"]}
        self.actions.append(action)

    def _end_label(self) -> None:
        label = questions.one_line("".join(self._label or ()), MAX_LABEL_CHARS)
        if not label:
            raise ValueError(f"A button of {self._name!r} has no text: say what it does.")
        self.actions[-1]["label"] = label
        self._label = None
