"""Measure how easily pages of a manual are read: the Flesch reading ease of each page, and the median.

    pip install "textstat<0.7.5" setuptools    # later ones download a dictionary
    python benchmarks/readability.py page.md tutorial.txt ...

Code, tables, headings and the targets of links are left out. 60 and more is plain English. Pages of Django's manual,
which are reStructuredText, are `.txt`.
"""

import re
import statistics
import sys
from pathlib import Path

import textstat


def prose_of(markdown: str) -> str:
    """Return the sentences of a page, each paragraph and list item ending in a full stop."""
    text = re.sub(r"(?ms)^ *```.*?^ *```$", "", markdown)
    text = re.sub(r"(?m)^(#|\||<!--|    ).*$", "", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "code", text)
    blocks = re.split(r"\n\s*\n|\n *(?:[-*]|\d+\.) ", text)
    lines = [" ".join(block.split()).strip("*-: ") for block in blocks]
    return "\n".join(line if line.endswith(".") else f"{line}." for line in lines if line)


def markdown_of(text: str) -> str:
    """Turn reStructuredText into Markdown without directives, code and headings."""
    text = re.sub(r"(?m)^(\.\. | {4,}).*$", "", text)
    text = re.sub(r"(?m)^.*\n[=~-]{4,}$", "", text)
    text = re.sub(r":[\w:]+:(`[^`]*`)|`(`[^`]*`)`", r"\1\2", text)
    return text.replace("::", ".")


def read(page: Path) -> str:
    text = page.read_text()
    return prose_of(markdown_of(text) if page.suffix == ".txt" else text)


def main() -> None:
    eases = []
    for name in sys.argv[1:]:
        ease = textstat.flesch_reading_ease(read(Path(name)))
        eases.append(ease)
        print(f"{ease:6.1f}  {name}")
    print(f"{statistics.median(eases):6.1f}  median")


if __name__ == "__main__":
    main()
