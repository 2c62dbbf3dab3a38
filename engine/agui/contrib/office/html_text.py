"""Markdown from HTML, with tables whose merged cells are in their places."""

import re
from typing import Any

from bs4 import BeautifulSoup, Tag
from markdownify import MarkdownConverter

MAX_SPAN = 100
PIPE = re.compile(r"(?<!\\)\|")
LEFT_OUT = ["script", "style", "head", "title", "noscript", "template"]


class Converter(MarkdownConverter):
    """Names images by their descriptions, and keeps the cells of tables apart."""

    def convert_img(self, el: Tag, text: str, parent_tags: Any) -> str:
        description = " ".join(str(el.get("alt") or "").split())
        return f"[Image: {description}]" if description else ""

    def convert_a(self, el: Tag, text: str, parent_tags: Any) -> str:
        address = str(el.get("href") or "")
        if not address.startswith(("http:", "https:", "mailto:")):
            return text
        return f"[{text}]({address})" if text.strip() else ""

    def convert_td(self, el: Tag, text: str, parent_tags: Any) -> str:
        # The cells of a table within this one have their signs already.
        words = PIPE.sub(r"\|", " ".join(text.split()))
        return f" {words} |"

    convert_th = convert_td


def markdown_of(html: str) -> str:
    # lxml, which python-pptx needs, closes the cells that a page leaves open.
    soup = BeautifulSoup(html, "lxml")
    for tag in soup(LEFT_OUT):
        tag.decompose()
    for table in reversed(soup("table")):
        _fill_merged_cells(soup, table)
    converter = Converter(
        heading_style="ATX",
        bullets="-",
        table_infer_header=True,
        escape_misc=False,
        escape_underscores=False,
        escape_asterisks=False,
    )
    text: str = converter.convert_soup(soup)
    return text


def _fill_merged_cells(soup: BeautifulSoup, table: Tag) -> None:
    """Put empty cells where a cell reaches over other columns or rows."""
    reaching: dict[int, int] = {}
    """For how many more rows a cell from above reaches into each column."""
    rows = [row for row in table("tr") if row.find_parent("table") is table]
    for row in rows:
        column = 0
        for cell in row(["td", "th"], recursive=False):
            while reaching.get(column, 0):
                reaching[column] -= 1
                cell.insert_before(soup.new_tag("td"))
                column += 1
            width, height = _span(cell, "colspan"), _span(cell, "rowspan")
            for number in range(width):
                reaching[column + number] = height - 1
                if number:
                    cell.insert_after(soup.new_tag("td"))
            column += width
        for last in sorted(reaching):
            if last >= column and reaching[last]:
                reaching[last] -= 1
                row.append(soup.new_tag("td"))


def _span(cell: Tag, name: str) -> int:
    value = str(cell.attrs.pop(name, 1))
    return min(max(int(value), 1), MAX_SPAN) if value.isdecimal() else 1
