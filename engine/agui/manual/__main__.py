"""List the pages of the manual, with the paths where they are installed, or print one of them.

`python -m agui.manual` lists them, and `python -m agui.manual tools` prints tools.md.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main(name: str = "") -> None:
    pages = {page.relative_to(HERE).with_suffix("").as_posix(): page for page in HERE.rglob("*.md")}
    if not name:
        print("\n".join(f"{title_of(page):48}{page}" for _, page in sorted(pages.items())))
    elif name.removesuffix(".md") in pages:
        print(pages[name.removesuffix(".md")].read_text("utf-8"))
    else:
        sys.exit(f"There is no page {name!r}, only {', '.join(sorted(pages))}.")


def title_of(page: Path) -> str:
    return page.read_text("utf-8").partition("\n")[0].lstrip("# ")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:2])
        sys.stdout.flush()
    except BrokenPipeError:
        # `head` and pagers stop reading early. Python would report it once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
