"""The browsers that page.md names are those that have what the page uses."""

import re

from conftest import ENGINE, MANUAL

Versions = tuple[float, float, float]

# What the page can't do without: how it is written, and the first Chrome, Firefox and Safari that have it (MDN).
# If you use something newer, add a line here, and change the sentence in page.md. What is older than the first two
# lines together needs none: if one of these goes, look for what comes next.
NEEDED: dict[str, Versions] = {
    r"light-dark\(": (123, 120, 17.5),
    r"\bpopover\b|:popover-open": (114, 125, 17),
    r"\bURL\.parse\(": (126, 126, 18),
    r"\bPromise\.try\(": (128, 134, 18.2),
    r"\bRegExp\.escape\(": (136, 134, 18.2),
    r"\bIterator\.(from|prototype)\b": (122, 131, 18.4),
    r"\bstartViewTransition\b": (111, 144, 18),
    r"\.(union|intersection|difference)\(": (122, 127, 17),
    r"\.(toBase64|toHex)\(": (140, 133, 18.2),
    r"\bscheduler\.(yield|postTask)\b": (129, 142, 26),
    r"@starting-style": (117, 129, 17.5),
    r"\banchor-name:|\bposition-anchor:": (125, 147, 26),
    r"@scope\b": (118, 146, 17.4),
    r"\bcommandfor\b": (135, 144, 26.2),
}
# No browser needs what is only nicer: `field-sizing` (composer.js measures the text), `animation-timeline` (stands in
# @supports), `text-wrap`, alternatives of `content` (aria-sort tells), and `vibrate`.


def test_page_names_the_oldest_browsers_that_can_show_it():
    # What a browser gets: scripts and styles, without comments.
    folders = [ENGINE / "static", *ENGINE.glob("contrib/*/static")]
    paths = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".js", ".css")]
    text = "\n".join(path.read_text() for path in sorted(paths))
    code = re.sub(r"(?s)/\*.*?\*/", "", re.sub(r"(?m)^\s*//.*$", "", text))
    used = [versions for pattern, versions in NEEDED.items() if re.search(pattern, code)]
    (named,) = re.findall(
        r"\*\*Chrome and Edge ([\d.]+), Firefox ([\d.]+) and Safari ([\d.]+)\*\*", (MANUAL / "page.md").read_text()
    )
    assert [float(version) for version in named] == [max(column) for column in zip(*used, strict=True)]
