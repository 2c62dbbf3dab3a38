from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agui import conf
from agui.contrib.attachments.readers import FileReader
from agui.contrib.office import kinds
from agui.contrib.office.conf import OfficeSettings
from agui.lazy_import import LazyImport
from agui.parts import Part

if TYPE_CHECKING:
    from agui.contrib.office import texts
else:
    texts = LazyImport("agui.contrib.office.texts")


class OfficeConfig(FileReader, Part):
    name = "agui.contrib.office"
    label = "agui_office"
    verbose_name = "Agent: files of offices"
    settings = OfficeSettings
    needs = ("agui.contrib.attachments",)

    def kinds(self) -> Mapping[str, str]:
        accepted = conf.part(OfficeSettings).types
        return {media_type: kinds.KINDS.get(media_type, media_type) for media_type in accepted}

    def media_type_of(self, file: Any, head: bytes) -> str | None:
        return kinds.media_type_of(file, head)

    def text_of(self, key: str, media_type: str, data: bytes) -> str:
        return texts.text_of(key, media_type, data)
