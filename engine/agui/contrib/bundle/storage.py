"""The static files of production: named after their content, minified, the modules joined.

Without the part's line in INSTALLED_APPS they are only named after their content and compressed.
"""

import logging
import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from django.apps import apps
from django.core.files.base import ContentFile
from whitenoise.storage import CompressedManifestStaticFilesStorage

from agui import parts
from agui.contrib.bundle.join import flatten

ENGINE = re.compile(r"agui/.+\.(?:js|css)")
MODULE = re.compile(r"agui/(?!words/languages/).+\.js")
AT_ONCE = ("composer:", "answer:")
NEIGHBOUR = re.compile(r"""["']\./([\w-]+\.js)["']""")

COMMENT = re.compile(r"\s*(?:/\*|\*|//)")

logger = logging.getLogger("agui.bundle")


class StaticFiles(CompressedManifestStaticFilesStorage):
    support_js_module_import_aggregation = True
    # Each level of modules that import each other takes a pass.
    max_post_process_passes = 20
    part_modules: frozenset[str] = frozenset()

    def post_process(self, paths: dict[str, Any], *args: Any, **options: Any) -> Iterator[Any]:
        folders = modules_of_parts(paths)
        self.part_modules = frozenset(name for folder in folders.values() for name in folder)
        changed = {}
        if apps.is_installed("agui.contrib.bundle"):
            for name, text in bundle(paths, folders).items():
                _, path = paths[name]
                changed[name] = (Memory(text), path)
        yield from super().post_process(paths | changed, *args, **options)

    def url_converter(
        self, name: str, *args: Any, **options: Any
    ) -> Callable[[re.Match[str]], str]:
        convert = super().url_converter(name, *args, **options)
        if not name.endswith(".js"):
            return convert
        if name.startswith(("agui/", "assistant/")) or name in self.part_modules:
            return lambda match: match["matched"] if is_comment(match) else convert(match)
        # Scripts of other packages may name modules in comments, or modules that only a bundler
        # finds. Django would stop there, so their imports stay as they are.
        return lambda match: match["matched"]


def is_comment(match: re.Match[str]) -> bool:
    """Tell whether the address that a match found is in a comment.

    It is part of an example or a type, and may name a file that is not there.
    """
    start = match.start("url")
    is_open = match.string.rfind("/**", 0, start) > match.string.rfind("*/", 0, start)
    line = match.string.rfind("\n", 0, start) + 1
    return is_open or COMMENT.match(match.string, line, start) is not None


class Memory:
    """A storage with the changed text of one file, which the other storage names and writes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def open(self, path: str) -> ContentFile:
        return ContentFile(self.text.encode())


def bundle(paths: dict[str, Any], folders: dict[str, dict[str, str]]) -> dict[str, str]:
    """Join and minify the files of the engine, and the modules of parts, which are in `folders`.

    Modules of other people's parts are only joined: the minifier changes the order of some
    declarations, and our tests know our code alone.
    """
    texts: dict[str, str] = {}
    modules: dict[str, str] = {}
    for name in paths:
        if ENGINE.fullmatch(name):
            texts[name] = read(*paths[name])
        if MODULE.fullmatch(name):
            modules[name] = texts[name]
    for folder in folders.values():
        texts |= folder
    texts |= flatten(modules, "agui/agui-chat.js", folders.values(), loaded_at_once())
    return {name: minified(name, text) if is_ours(name) else text for name, text in texts.items()}


def is_ours(name: str) -> bool:
    folder = name.partition("/")[0]
    return folder == "agui" or any(part.label == folder for part in engine_parts())


def engine_parts() -> list[parts.Part]:
    return [part for part in parts.installed() if part.name.startswith("agui.")]


def loaded_at_once() -> dict[str, str]:
    """Name the modules of our parts that stand beside each input and below each answer."""
    found: dict[str, str] = {}
    for part in engine_parts():
        for place, path in part.page_modules.items():
            if place.startswith(AT_ONCE):
                found[place] = path
    return found


def modules_of_parts(paths: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Read the modules that parts name, and those beside them that they import, by folder."""
    folders: dict[str, dict[str, str]] = defaultdict(dict)
    named = [path for part in parts.installed() for path in part.page_modules.values()]
    while named:
        name = named.pop()
        folder = posixpath.dirname(name)
        # A part that names a module of the engine adds nothing to it.
        if name not in paths or MODULE.fullmatch(name) or name in folders[folder]:
            continue
        text = folders[folder][name] = read(*paths[name])
        named += [f"{folder}/{neighbour}" for neighbour in NEIGHBOUR.findall(text)]
    return folders


def read(storage: Any, path: str) -> str:
    with storage.open(path) as file:
        text = file.read().decode("utf-8-sig")
        return str(text.replace("\r\n", "\n"))


def minified(name: str, text: str) -> str:
    try:
        # A server needs neither this library nor its runtime: only `collectstatic` imports it.
        import minify
    except ImportError:  # The library is not made for every platform.
        return text
    media_type = "text/css" if name.endswith(".css") else "application/javascript"
    try:
        return str(minify.string(media_type, text))
    except ValueError as error:
        logger.warning("Serving %s unminified: minify failed: %s", name, error)
        return text
