"""Text and TOML of a project's files, or a reason why they can't be edited."""

import tomllib
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from installer.errors import Refusal


def read(path: Path) -> str:
    """A file's text with its own line ends. Raises Refusal if it is not UTF-8."""
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        raise Refusal(f"{path} is not encoded in UTF-8: save it so first.") from None


def parse(path: Path, text: str) -> Any:
    try:
        return tomlkit.parse(text)
    except TOMLKitError:
        raise Refusal(f"{path} can't be read as TOML.") from None


def check(path: Path, text: str) -> None:
    """Raise Refusal if this text, which is to be written, is no TOML."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise Refusal(
            f"{path} is written in a way that can't be edited: write [tool] as tables of their own."
        ) from None
