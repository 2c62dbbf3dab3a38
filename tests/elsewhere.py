"""Processes of another place: in a container's stead, they have process ids of their own."""

import os
import shutil
import signal
import subprocess
from functools import cache
from pathlib import Path

COMMAND = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]


@cache
def elsewhere() -> tuple[list[str], dict[str, str]]:
    """What begins a command that is to run in another place, and its environment."""
    for command in (COMMAND, [*COMMAND, "--user", "--map-root-user"]):
        if shutil.which("unshare") and not subprocess.run([*command, "true"], capture_output=True).returncode:
            return command, {}
    # If the system does not allow it, the process only says so.
    return [], {"PLACE": f"place-{os.urandom(4).hex()}"}


def send_signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal the process itself, and not what has begun it elsewhere."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    is_elsewhere = Path(f"/proc/{process.pid}/comm").read_text().strip() == "unshare"
    os.kill(int(children.read_text().split()[0]) if is_elsewhere else process.pid, number)
