"""Measure how easily pages of a manual are read: the Flesch reading ease of each page, and the median.

    pip install textstat
    python benchmarks/readability.py page.md ...

Code, tables, headings and the targets of links are left out. 60 and more is plain English.
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


def main() -> None:
    eases = []
    for name in sys.argv[1:]:
        ease = textstat.flesch_reading_ease(prose_of(Path(name).read_text()))
        eases.append(ease)
        print(f"{ease:6.1f}  {name}")
    print(f"{statistics.median(eases):6.1f}  median")


if __name__ == "__main__":
    main()
