"""List the pages of the manual: the title of each, and the path where it is installed."""

from pathlib import Path


def main() -> None:
    lines = []
    for page in sorted(Path(__file__).parent.rglob("*.md")):
        title = page.read_text("utf-8").partition("\n")[0].lstrip("# ")
        lines.append(f"{title:48}{page}")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
