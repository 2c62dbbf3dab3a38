"""Tools that run here, on the person's machine: only those that were allowed, and only in one folder."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAX_CHARS = 100_000
MAX_FILES = 500


class Refused(Exception):
    """The text says why, for the model."""


@dataclass(frozen=True)
class LocalTool:
    function: Callable[..., str]
    description: str
    parameters: dict[str, Any]

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def declaration(self) -> dict[str, Any]:
        """What the server is told of it."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}

    def call(self, arguments: str) -> tuple[str, bool]:
        """Call it with arguments in JSON. Returns what it answers, and whether that is a result."""
        try:
            values = json.loads(arguments or "{}")
            if not isinstance(values, dict) or not all(
                isinstance(value, str) for value in values.values()
            ):
                raise Refused("The arguments are texts.")
            return self.function(**values), True
        except Refused as refusal:
            return str(refusal), False
        except (ValueError, TypeError) as error:
            return f"The arguments don't fit: {error}", False
        except OSError as error:
            return f"It can't be read: {error.strerror}", False


class Folder:
    """What may be read: the folder's files, but none that are hidden, as .env and .git are."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve(strict=True)

    def tools(self) -> list[LocalTool]:
        def parameters(name: str, description: str, **more: Any) -> dict[str, Any]:
            return {
                "type": "object",
                "properties": {name: {"type": "string", "description": description}},
                **more,
            }

        where = f"the folder {self.root.name!r} on the user's computer"
        path = parameters(
            "path", "Relative to the folder, as list_files shows it.", required=["path"]
        )
        pattern = parameters("pattern", "Which files, for example **/*.py. Leave it out for all.")
        return [
            LocalTool(self.read_file, f"Read a text file in {where}.", path),
            LocalTool(self.list_files, f"List the files in {where}.", pattern),
        ]

    def read_file(self, path: str) -> str:
        file = self._find(path)
        if not file.is_file():
            raise Refused(f"There is no file {path!r}: list_files shows which there are.")
        with file.open("rb") as stream:
            data = stream.read(4 * MAX_CHARS)
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            if error.start < len(data) - 4 or b"\0" in data:
                raise Refused(f"{path!r} is not a text.") from None
            text = data[: error.start].decode()
        return text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]}\n(The file goes on.)"

    def list_files(self, pattern: str = "**/*") -> str:
        if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
            raise Refused("The pattern stays in the folder.")
        found: list[str] = []
        for file in self.root.glob(pattern):
            if self._is_allowed(file) and file.is_file():
                found.append(str(file.relative_to(self.root)))
            if len(found) > MAX_FILES:
                return "\n".join([*sorted(found[:MAX_FILES]), "(There are more: use a pattern.)"])
        return "\n".join(sorted(found)) or "There are none."

    def _find(self, path: str) -> Path:
        file = self.root / path
        if not self._is_allowed(file):
            raise Refused(f"{path!r} is not allowed: only files in the folder that are not hidden.")
        return file

    def _is_allowed(self, file: Path) -> bool:
        """Wherever links lead: the file itself has to be in the folder."""
        try:
            found = file.resolve()
            parts = found.relative_to(self.root).parts
        except (ValueError, RuntimeError):  # Elsewhere, or in a circle
            return False
        # From Python 3.13 on a circle is no error: it is still a link.
        return not found.is_symlink() and not any(part.startswith(".") for part in parts)
