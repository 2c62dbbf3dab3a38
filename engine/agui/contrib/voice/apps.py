from collections.abc import Mapping
from typing import Any

from django.urls import reverse

from agui import conf
from agui.contrib.voice.conf import VoiceSettings
from agui.parts import Part


class VoiceConfig(Part):
    name = "agui.contrib.voice"
    label = "agui_voice"
    verbose_name = "Agent: voice"
    settings = VoiceSettings
    page_modules = {"composer:voice": "agui_voice/microphone.js"}

    def routes(self) -> dict[str, tuple[str, str]]:
        return {"transcribe": ("transcribe/", "agui.contrib.voice.views.TranscribeView")}

    def page_attributes(self, agent: str) -> dict[str, Any]:
        settings = conf.part(VoiceSettings)
        if not settings.is_on:
            return {}
        return {
            "data-transcribe-url": reverse(f"{agent}:transcribe"),
            "data-max-recording-bytes": settings.max_bytes,
        }

    def modules_of_page(self, agent: str) -> Mapping[str, str]:
        return self.page_modules if conf.part(VoiceSettings).is_on else {}

    def client_capabilities(self) -> dict[str, Any]:
        if not conf.part(VoiceSettings).is_on:
            return {}
        return {"transcription": True}
