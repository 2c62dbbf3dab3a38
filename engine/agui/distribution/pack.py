"""Builds the engine's packages, with Python alone: no network, no build tools (PEP 517, PEP 660).

The same source always gives the same bytes. `python pack.py DIRECTORY` writes the wheel there.
"""

import base64
import gzip
import hashlib
import io
import re
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1]
NAME = PACKAGE.name
# In the repository the description is beside the package, in a project with its source inside.
DESCRIPTION = PACKAGE / "pyproject.toml"
if not DESCRIPTION.exists():
    DESCRIPTION = PACKAGE.with_name("pyproject.toml")
# The oldest time that a ZIP file can have.
TIME = (1980, 1, 1, 0, 0, 0)
WHEEL = "Wheel-Version: 1.0\nGenerator: agui\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def build_wheel(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    """Write the wheel into a directory, and return its name."""
    files = {f"{NAME}/{name}": content for name, content in sources().items()}
    return write_wheel(Path(wheel_directory), files)


def build_editable(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    """Write a wheel that names the folder of the source: `pip install -e` installs it."""
    return write_wheel(Path(wheel_directory), {"agui_django.pth": f"{PACKAGE.parent}\n".encode()})


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    """Write the source as an archive that makes the same wheel, and return its name."""
    project, version, stem = describe()
    files = {f"{NAME}/{name}": content for name, content in sources().items()}
    description = files.pop(f"{NAME}/pyproject.toml")
    files["pyproject.toml"] = description.replace(b'["distribution"]', b'["agui/distribution"]')
    files["PKG-INFO"] = metadata(project, version).encode()
    name = f"{stem}.tar.gz"
    with (
        gzip.GzipFile(Path(sdist_directory) / name, "wb", mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path, content in files.items():
            entry = tarfile.TarInfo(f"{stem}/{path}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return name


def sources() -> dict[str, bytes]:
    """Read the files of the package, by their names in it, with its description among them."""
    description = DESCRIPTION.read_bytes().replace(b'["agui/distribution"]', b'["distribution"]')
    files = {DESCRIPTION.name: description}
    for path in PACKAGE.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            files.setdefault(path.relative_to(PACKAGE).as_posix(), path.read_bytes())
    return dict(sorted(files.items()))


def write_wheel(directory: Path, files: dict[str, bytes]) -> str:
    project, version, stem = describe()
    about = f"{stem}.dist-info"
    files = files | {
        f"{about}/METADATA": metadata(project, version).encode(),
        f"{about}/WHEEL": WHEEL.encode(),
    }
    record = f"{about}/RECORD"
    lines = [f"{name},sha256={digest(content)},{len(content)}\n" for name, content in files.items()]
    files[record] = "".join([*lines, f"{record},,\n"]).encode()
    name = f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(directory / name, "w") as wheel:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, TIME)
            entry.external_attr = 0o644 << 16
            wheel.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return name


def describe() -> tuple[dict[str, Any], str, str]:
    """Read what the project says of itself, and its version; name its files after both."""
    project = tomllib.loads(DESCRIPTION.read_text("utf-8"))["project"]
    version = read_version()
    return project, version, f"{project['name'].replace('-', '_')}-{version}"


def read_version() -> str:
    text = (PACKAGE / "__init__.py").read_text("utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    if found is None:
        sys.exit("agui/__init__.py names no version.")
    return found[1]


def metadata(project: dict[str, Any], version: str) -> str:
    """Write what installers read of the package."""
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {version}",
        f"Summary: {project['description']}",
        f"License-Expression: {project['license']}",
        f"Requires-Python: {project['requires-python']}",
    ]
    for requirement in project["dependencies"]:
        lines.append(f"Requires-Dist: {requirement}")
    for part, requirements in project["optional-dependencies"].items():
        extra = part.replace("_", "-")  # The standard wants this; installers accept both.
        lines.append(f"Provides-Extra: {extra}")
        for requirement in requirements:
            needed, _, marker = requirement.partition(";")
            condition = f"({marker.strip()}) and " if marker else ""
            lines.append(f'Requires-Dist: {needed.strip()}; {condition}extra == "{extra}"')
    return "\n".join(lines) + "\n"


def digest(contents: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).decode().rstrip("=")


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    print(Path(sys.argv[1]) / build_wheel(sys.argv[1]))
