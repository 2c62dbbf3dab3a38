"""Tools that run on the person's machine: only if they allow it, and only in one folder."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAX_CHARS = 100_000
MAX_FILES = 500


class Refused(Exception):
    """A call that is not allowed. The text tells the model why."""


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
        """The tool as the server gets it."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}

    def call(self, arguments: str) -> tuple[str, bool]:
        """Call it with arguments in JSON. Return its answer, and whether that is a result."""
        try:
            values = json.loads(arguments or "{}")
            if not isinstance(values, dict):
                raise Refused("The arguments are texts.")
            for value in values.values():
                if not isinstance(value, str):
                    raise Refused("The arguments are texts.")
            return self.function(**values), True
        except Refused as refusal:
            return str(refusal), False
        except (ValueError, TypeError) as error:
            return f"The arguments don't fit: {error}", False
        except OSError as error:
            return f"It can't be read: {error.strerror}", False


class Folder:
    """The files that may be read: those in the folder, except hidden ones such as .env and .git."""

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
        if len(text) > MAX_CHARS:
            return f"{text[:MAX_CHARS]}\n(The file goes on.)"
        return text

    def list_files(self, pattern: str = "**/*") -> str:
        if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
            raise Refused("The pattern stays in the folder.")
        paths: list[str] = []
        for file in self.root.glob(pattern):
            if self._is_allowed(file) and file.is_file():
                paths.append(str(file.relative_to(self.root)))
            if len(paths) > MAX_FILES:
                return "\n".join([*sorted(paths[:MAX_FILES]), "(There are more: use a pattern.)"])
        return "\n".join(sorted(paths)) or "There are none."

    def _find(self, path: str) -> Path:
        file = self.root / path
        if not self._is_allowed(file):
            raise Refused(f"{path!r} is not allowed: only files in the folder that are not hidden.")
        return file

    def _is_allowed(self, file: Path) -> bool:
        """Return whether the file is in the folder, also after following links."""
        try:
            target = file.resolve()
            parts = target.relative_to(self.root).parts
        except (ValueError, RuntimeError):
            # The file is elsewhere, or a link leads to itself.
            return False
        # From Python 3.13 on, resolve() returns a link that leads to itself.
        return not target.is_symlink() and not any(part.startswith(".") for part in parts)
