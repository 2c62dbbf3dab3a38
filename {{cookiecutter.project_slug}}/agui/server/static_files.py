"""The static files of production: named after their content, minified, the modules joined."""

import logging
import re
from collections.abc import Callable, Iterator
from typing import Any

from django.core.files.base import ContentFile
from whitenoise.storage import CompressedManifestStaticFilesStorage

from agui.server.bundle import flatten

ENGINE = re.compile(r"agui/.+\.(?:js|css)")
MODULE = re.compile(r"agui/([\w-]+\.js)")

logger = logging.getLogger("agui.static_files")


class StaticFiles(CompressedManifestStaticFilesStorage):
    support_js_module_import_aggregation = True
    # Each level of modules that import each other takes a pass.
    max_post_process_passes = 20

    def post_process(self, paths: dict[str, Any], *args: Any, **options: Any) -> Iterator[Any]:
        texts: dict[str, str] = {}
        modules: dict[str, str] = {}
        for name in paths:
            if ENGINE.fullmatch(name):
                texts[name] = read(*paths[name])
            module = MODULE.fullmatch(name)
            if module:
                modules[module[1]] = texts[name]
        for name, text in flatten(modules, "agui-chat.js").items():
            texts[f"agui/{name}"] = text
        changed = {}
        for name, text in texts.items():
            _, path = paths[name]
            changed[name] = (Memory(minified(name, text)), path)
        yield from super().post_process(paths | changed, *args, **options)

    def url_converter(
        self, name: str, *args: Any, **options: Any
    ) -> Callable[[re.Match[str]], str]:
        if name.startswith(("agui/", "assistant/")) or not name.endswith(".js"):
            return super().url_converter(name, *args, **options)
        # Scripts of other packages may name modules in comments, or modules that only a bundler
        # finds. Django would stop there, so their imports stay as they are.
        return lambda match: match["matched"]


class Memory:
    """A storage with the changed text of one file, which the other storage names and writes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def open(self, path: str) -> ContentFile:
        return ContentFile(self.text.encode())


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
