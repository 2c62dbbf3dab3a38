from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ImproperlyConfigured

from agui import conf
from agui.contrib.attachments.readers import FileReader
from agui.contrib.office import kinds
from agui.contrib.office.conf import OfficeSettings
from agui.lazy_import import LazyImport
from agui.parts import Part

if TYPE_CHECKING:
    from agui.contrib.office import recognize, texts
else:
    # Only an upload or a run needs these.
    recognize = LazyImport("agui.contrib.office.recognize")
    texts = LazyImport("agui.contrib.office.texts")

# Only the child processes import them.
LIBRARIES = ("bs4", "mammoth", "markdownify", "pptx", "python_calamine")


class OfficeConfig(FileReader, Part):
    name = "agui.contrib.office"
    label = "agui_office"
    verbose_name = "Agent: files of offices"
    settings = OfficeSettings
    needs = ("agui.contrib.attachments",)

    def prepare(self) -> None:
        missing = [name for name in LIBRARIES if find_spec(name) is None]
        if missing:
            raise ImproperlyConfigured(
                f"{self.name} can't import {', '.join(missing)}: add office to the extras of "
                "agui-django, and install it again."
            )

    def kinds(self) -> Mapping[str, str]:
        accepted = conf.part(OfficeSettings).types
        return {media_type: kinds.KINDS.get(media_type, media_type) for media_type in accepted}

    def media_type_of(self, file: Any, head: bytes) -> str | None:
        return recognize.media_type_of(file, head)

    def text_of(self, key: str, media_type: str, data: bytes) -> str:
        return texts.text_of(key, media_type, data)
