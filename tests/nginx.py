"""The generated project's own nginx.conf, in front of processes that are not containers."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from getpass import getuser
from pathlib import Path

from servers import free_port, is_listening, wait_until


@contextmanager
def nginx(configuration: Path, ports: Sequence[int], directory: Path) -> Iterator[int]:
    """Serve until the block ends: the port."""
    port, site = free_port(), configuration.read_text()
    [upstream] = [line for line in site.splitlines() if "server web:8000" in line]
    servers = [upstream.replace("web:8000 resolve", f"127.0.0.1:{number}") for number in ports]
    assert "listen 80;" in site
    site = site.replace(upstream, "\n".join(servers)).replace("listen 80;", f"listen 127.0.0.1:{port};")
    (directory / "site.conf").write_text(site)
    temporary = [f"{name}_temp_path {directory}/{name};" for name in ("proxy", "fastcgi", "uwsgi", "scgi")]
    (directory / "nginx.conf").write_text(f"""
daemon off;
user {getuser()} {getuser()};
pid {directory}/pid;
error_log {directory}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {directory}/body;
    {" ".join(temporary)}
    include {directory}/site.conf;
}}
""")
    process = subprocess.Popen(
        [find_nginx(), "-c", directory / "nginx.conf", "-e", directory / "error.log"], stderr=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: is_listening(port), failure_message=(directory / "error.log").read_text)
        yield port
    finally:
        process.terminate()
        process.wait(timeout=60)


def find_nginx() -> str | None:
    # Debian keeps it off the path of users.
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
