"""The static files as production serves them: named after their content, minified, and few to wait for."""

import logging
import re
from collections.abc import Callable, Iterator
from typing import Any

from django.core.files.base import ContentFile
from whitenoise.storage import CompressedManifestStaticFilesStorage

from agui.server.bundle import flatten

ENGINE = re.compile(r"agui/.+\.(?:js|css)")
MODULE = re.compile(r"agui/[\w-]+\.js")

logger = logging.getLogger("agui.static_files")


class StaticFiles(CompressedManifestStaticFilesStorage):
    support_js_module_import_aggregation = True
    # One for each level of modules that import each other.
    max_post_process_passes = 20

    def post_process(self, paths: dict[str, Any], *args: Any, **options: Any) -> Iterator[Any]:
        own = {name: read(*paths[name]) for name in paths if ENGINE.fullmatch(name)}
        modules = {
            name.removeprefix("agui/"): text for name, text in own.items() if MODULE.fullmatch(name)
        }
        own |= {f"agui/{name}": text for name, text in flatten(modules, "agui-chat.js").items()}
        changed = {
            name: (Memory(minified(name, text)), paths[name][1]) for name, text in own.items()
        }
        yield from super().post_process(paths | changed, *args, **options)

    def url_converter(
        self, name: str, *args: Any, **options: Any
    ) -> Callable[[re.Match[str]], str]:
        if name.startswith(("agui/", "assistant/")) or not name.endswith(".js"):
            return super().url_converter(name, *args, **options)
        # What others have made may import in a comment, or what only a bundler finds: Django would
        # stop at it.
        return lambda found: found["matched"]


class Memory:
    """A storage of one file, that is changed before it gets its name."""

    def __init__(self, text: str) -> None:
        self.text = text

    def open(self, path: str) -> ContentFile:
        return ContentFile(self.text.encode())


def read(storage: Any, path: str) -> str:
    with storage.open(path) as file:
        return str(file.read().decode("utf-8-sig").replace("\r\n", "\n"))


def minified(name: str, text: str) -> str:
    try:
        import minify  # only here: it brings a runtime of its own, which a server has no use for
    except ImportError:  # it is not made for every platform
        return text
    try:
        return str(
            minify.string("text/css" if name.endswith(".css") else "application/javascript", text)
        )
    except ValueError as error:
        logger.warning("%s can't be minified, so it is served as it is: %s", name, error)
        return text
