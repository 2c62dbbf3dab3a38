"""Texts and presentations of OpenDocument, as LibreOffice writes them."""

import zipfile
from collections.abc import Iterable, Iterator
from html import escape
from io import BytesIO
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from agui.contrib.office.html_text import markdown_of

# What is no text of the document: deleted text, comments' dates, the program's own words.
LEFT_OUT = {"tracked-changes", "annotation", "forms", "settings", "bookmark", "title", "desc"}
BLOCKS = {"p": "p", "list-item": "li", "list-header": "li", "table": "table"}
ROWS = {"table-row": "tr", "table-cell": "td"}
MAX_BLANKS = 100


def read(data: bytes, media_type: str) -> str:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        root = _parsed(archive, "content.xml")
        roots = [root]
        if "styles.xml" in archive.namelist():
            roots.append(_parsed(archive, "styles.xml"))
    body = next(element for element in root if _name(element) == "body")
    document = Document(_numbered(roots))
    html = "".join(document.inner(body))
    return markdown_of(html + "".join(document.notes))


def _parsed(archive: zipfile.ZipFile, name: str) -> Element:
    # expat loads nothing from elsewhere, and the process has limits.
    return ElementTree.fromstring(archive.read(name))  # noqa: S314


def _numbered(roots: Iterable[Element]) -> set[tuple[str | None, int]]:
    """Find the styles of lists, and the levels in them, that have numbers."""
    numbered = set()
    for root in roots:
        for style in root.iterfind(".//{*}list-style"):
            for level in style.iterfind("{*}list-level-style-number"):
                if _attribute(level, "num-format"):
                    key = _attribute(style, "name"), int(_attribute(level, "level") or 1)
                    numbered.add(key)
    return numbered


class Document:
    """The HTML of a document, and its notes, which come after it."""

    def __init__(self, numbered: set[tuple[str | None, int]]) -> None:
        self.notes: list[str] = []
        self._numbered = numbered
        self._slides = 0
        self._lists: list[str | None] = []
        """The styles of the lists in which the text is."""

    def inner(self, element: Element) -> Iterator[str]:
        yield escape(element.text or "")
        for child in element:
            yield from self.html(child)
            yield escape(child.tail or "")

    def html(self, element: Element) -> Iterator[str]:
        name = _name(element)
        if name in LEFT_OUT:
            return
        if name == "note":
            yield self._note(element)
        elif name == "s":
            yield " " * min(int(_attribute(element, "c") or 1), MAX_BLANKS)
        elif name == "tab":
            yield " "
        elif name == "line-break":
            yield "<br>"
        elif name == "notes":
            words = "".join(self.inner(element))
            if "<p>" in words:
                yield f"<p>Notes:</p>{words}"
        elif name == "frame":
            yield from self._frame(element)
        else:
            yield from self._block(element, name)

    def _block(self, element: Element, name: str) -> Iterator[str]:
        if name == "list":
            outer = self._lists[-1] if self._lists else None
            self._lists.append(_attribute(element, "style-name") or outer)
        before, after = self._tags(element, name)
        yield before
        yield from self.inner(element)
        yield after
        if name == "list":
            self._lists.pop()

    def _tags(self, element: Element, name: str) -> tuple[str, str]:
        if name == "h":
            level = min(int(_attribute(element, "outline-level") or 1), 6)
            return f"<h{level}>", f"</h{level}>"
        if name == "page":
            self._slides += 1
            return f"<h2>Slide {self._slides}</h2>", ""
        if name == "list":
            kind = "ol" if (self._lists[-1], len(self._lists)) in self._numbered else "ul"
            return f"<{kind}>", f"</{kind}>"
        if name in ROWS:
            wide = _attribute(element, "number-columns-spanned") or "1"
            high = _attribute(element, "number-rows-spanned") or "1"
            return f'<{ROWS[name]} colspan="{wide}" rowspan="{high}">', f"</{ROWS[name]}>"
        if name in BLOCKS:
            return f"<{BLOCKS[name]}>", f"</{BLOCKS[name]}>"
        return "", ""

    def _note(self, note: Element) -> str:
        """Return the sign of a note, which comes after the text."""
        sign = escape(note.findtext("{*}note-citation") or "")
        for body in note.iterfind("{*}note-body"):
            self.notes.append(f"<p>[{sign}]</p>{''.join(self.inner(body))}")
        return f"[{sign}]"

    def _frame(self, frame: Element) -> Iterator[str]:
        """Write the text of a frame; of an image the description, of an object nothing."""
        for child in frame:
            if _name(child) in ("text-box", "table"):
                yield from self.html(child)
        description = frame.find("{*}desc")
        if description is None:
            description = frame.find("{*}title")
        if description is not None:
            yield f'<img alt="{escape("".join(description.itertext()))}">'


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _attribute(element: Element, name: str) -> str | None:
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return value
    return None
