"""A root directory with a newer Debian, for commands that need a newer Python than this machine's."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from projects import execute

SUITE = "trixie"
PACKAGES = ["ca-certificates", "git", "make", "python3", "python3-venv"]
# The names and certificates of other machines, and how pip is configured here.
OF_THE_MACHINE = ["/etc/hosts", "/etc/resolv.conf", "/etc/ssl/certs"]
OF_PIP = ["/etc/pip.conf", "/etc/xdg/pip/pip.conf", "~/.config/pip/pip.conf", "~/.pip/pip.conf"]
# Only this process sees the mounts, and they end with it.
ENTER = """
mount -t tmpfs tmpfs "$0/tmp"
while [ "$1" != -- ]; do
    if [ -d "$1" ]; then
        mkdir -p "$0$1"
    else
        mkdir -p "$(dirname "$0$1")"
        touch "$0$1"
    fi
    mount --bind "$1" "$0$1"
    shift
done
shift
mount --rbind /dev "$0/dev"
mount -t proc proc "$0/proc"
mkdir -p "$0$HOME"
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
exec chroot "$0" /bin/sh -c 'cd "$0" && exec "$@"' "$(pwd)" "$@"
"""
ALONE = ["unshare", "--mount", "--propagation", "private"]


def why_not() -> str | None:
    """Say what this machine lacks to make such a root and to run commands in it."""
    if os.geteuid():
        return "only root can make a root directory with another Debian"
    if not shutil.which("debootstrap"):
        return "debootstrap is not on the PATH"
    if subprocess.run([*ALONE, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode:
        return "this machine lets nobody mount a directory"
    return None


def pip_paths() -> list[str]:
    """The files that configure pip on this machine, and what they and the environment name."""
    files = [path for name in OF_PIP if (path := Path(name).expanduser()).exists()]
    texts = [path.read_text() for path in files]
    texts += [value for name, value in os.environ.items() if name.startswith("PIP_")]
    paths = [str(path) for path in files]
    for text in texts:
        # The pages of an index name files beside them.
        paths += [str(Path(path).parent) for path in re.findall(r"\bfile://(/\S+)", text)]
        paths += re.findall(r"(?m)(?:^|[\s=])(/\S+)", text)
    return paths


@dataclass
class DebianRoot:
    path: Path
    shared: list[Path] = field(default_factory=list)
    """Directories of this machine that are seen in it, at the same paths."""

    def make(self) -> None:
        command = [*ALONE, "debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", SUITE, self.path]
        execute(self.path.parent, *command)
        shutil.rmtree(self.path / "var/cache/apt")

    @property
    def prefix(self) -> list[str]:
        """What begins a command that is to run in it, in the directory that it is called in."""
        paths = [*OF_THE_MACHINE, *pip_paths(), *map(str, self.shared)]
        there = [path for path in dict.fromkeys(paths) if Path(path).exists()]
        return [*ALONE, "sh", "-ec", ENTER, str(self.path), *there, "--"]

    def run(self, *command: str | Path, cwd: Path, **settings: str) -> str:
        done = execute(cwd, *self.prefix, *command, **settings)
        return done.stdout + done.stderr
