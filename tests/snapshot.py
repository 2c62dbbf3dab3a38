"""Copy what a fresh clone would hold, with the changes that are not committed yet, and no caches or builds."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def files() -> list[str]:
    """The files that git tracks or would track."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    return sorted({name for name in names if (ROOT / name).is_file()})


def copy(destination: Path) -> None:
    for name in files():
        target = destination / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target, follow_symlinks=False)


if __name__ == "__main__":
    copy(Path(sys.argv[1]))
