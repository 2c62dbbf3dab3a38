"""Speech to text: POST a recording, get its text. It is off until AGUI["VOICE"] names a service.

The recording goes to that service and is stored nowhere.
"""

import asyncio
import logging
import re
from typing import Any, Protocol

import httpx2
from asgiref.sync import sync_to_async
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy as _

from agui import conf, parts
from agui.actor import Actor
from agui.blocking.executor import release_connections
from agui.contrib.voice.conf import VoiceSettings
from agui.errors import BadRequest, NotFound, Unavailable, Unprocessable, UnsupportedMediaType
from agui.http.throttle import throttle
from agui.http.uploads import FORM_BYTES, check_upload_length, read_upload
from agui.http.views import AgentView
from agui.sentences import fill_lazy

logger = logging.getLogger("agui.voice")

# What browsers record and what people have as files: the file's first bytes, its suffix, its type.
AUDIO: tuple[tuple[re.Pattern[bytes], str, str], ...] = (
    (re.compile(rb"\x1a\x45\xdf\xa3"), "webm", "audio/webm"),
    (re.compile(rb"....ftyp", re.DOTALL), "m4a", "audio/mp4"),
    (re.compile(rb"OggS"), "ogg", "audio/ogg"),
    (re.compile(rb"RIFF....WAVE", re.DOTALL), "wav", "audio/wav"),
    (re.compile(rb"ID3|\xff[\xe2-\xff]"), "mp3", "audio/mpeg"),
    (re.compile(rb"fLaC"), "flac", "audio/flac"),
)
LANGUAGE = re.compile(r"[a-z]{2}")
# With these statuses, the service refuses the recording. Others are failures of the service.
REFUSED = (400, 413, 415, 422)
NOT_NOW = _("The recording can't be transcribed now. Try again soon.")


class Transcriber(Protocol):
    """Turns speech into text. AGUI["VOICE"]["BACKEND"] can name a class of your own."""

    async def transcribe(self, audio: bytes, name: str, media_type: str, language: str) -> str:
        """Return the text of a recording. Raises Unprocessable and Unavailable.

        `language` is two letters, or empty.
        """
        ...


class OpenAITranscriber:
    """Any service with OpenAI's `POST /audio/transcriptions`."""

    async def transcribe(self, audio: bytes, name: str, media_type: str, language: str) -> str:
        settings = conf.part(VoiceSettings)
        assert settings.url  # noqa: S101
        url = f"{settings.url.rstrip('/')}/audio/transcriptions"
        headers = {}
        if settings.api_key:
            headers["Authorization"] = f"Bearer {settings.api_key}"
        form = {"model": settings.model, "response_format": "json"}
        if language:
            form["language"] = language
        files = {"file": (name, audio, media_type)}
        try:
            async with httpx2.AsyncClient(timeout=settings.timeout_seconds) as http:
                answer = await http.post(url, data=form, files=files, headers=headers)
            if answer.status_code in REFUSED:
                logger.warning(
                    "Transcription service refused %s (%s bytes): HTTP %s",
                    name,
                    len(audio),
                    answer.status_code,
                )
                raise Unprocessable(_("The recording could not be understood."))
            text = answer.raise_for_status().json()["text"]
        except (httpx2.HTTPError, ValueError, LookupError, TypeError) as error:
            # The text of the error may quote the recording, so the log has only its type.
            logger.warning(
                "Transcription by model %r failed: %s", settings.model, type(error).__name__
            )
            raise Unavailable(NOT_NOW) from None
        if not isinstance(text, str):
            raise Unavailable(NOT_NOW)
        return text.strip()


class TranscribeView(AgentView):
    """POST a recording in the form field `file`: `{"text": "..."}`."""

    methods = frozenset({"POST"})

    def max_body_bytes(self) -> int:
        settings = conf.part(VoiceSettings)
        return FORM_BYTES + (settings.max_bytes if settings.is_on else 0)

    def check_length(self, request: HttpRequest) -> None:
        settings = conf.part(VoiceSettings)
        if settings.is_on:
            check_upload_length(request, settings.max_bytes)

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponse:
        settings = conf.part(VoiceSettings)
        if not settings.is_on:
            raise NotFound("Transcription is not configured for this agent.")
        await throttle(request, actor)
        await parts.check_run(actor)
        upload, language = await sync_to_async(_read)(request, settings.max_bytes)
        audio = await asyncio.to_thread(upload.read)
        suffix, media_type = kind_of(audio)
        # The service may take long.
        await release_connections()
        transcriber: Transcriber = OpenAITranscriber()
        if settings.backend:
            transcriber = import_string(settings.backend)()
        text = await transcriber.transcribe(audio, f"audio.{suffix}", media_type, language)
        return JsonResponse({"text": text})


def _read(request: HttpRequest, limit: int) -> tuple[UploadedFile, str]:
    upload = read_upload(request, limit)
    language = request.POST.get("language", "")
    if language and not LANGUAGE.fullmatch(language):
        raise BadRequest("The language is two letters, as 'en'.")
    return upload, language


def kind_of(audio: bytes) -> tuple[str, str]:
    """Return a recording's suffix and type by its content: services rely on the suffix."""
    for pattern, suffix, media_type in AUDIO:
        if pattern.match(audio):
            return suffix, media_type
    accepted = ", ".join(suffix for _, suffix, _ in AUDIO)
    raise UnsupportedMediaType(
        fill_lazy(
            _("This kind of recording is not accepted. Accepted are: {kinds}."), kinds=accepted
        )
    )
