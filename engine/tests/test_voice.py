"""Speech to text: who may ask, what is taken, what the service gets, and what becomes of its answers."""

import asyncio
import json

import pytest
from django.contrib.auth.views import LoginView
from django.core.exceptions import ImproperlyConfigured
from django.core.files.uploadedfile import SimpleUploadedFile
from django.template.loader import render_to_string
from django.test import AsyncClient
from django.urls import path

from agui import conf
from agui.contrib.voice.views import kind_of
from agui.testing import Chat
from tests import urls
from tests.conftest import Client
from tests.mounting import serve_urls
from tests.serving import CUT, Answers, serving

pytestmark = pytest.mark.django_db(transaction=True)

WEBM = b"\x1a\x45\xdf\xa3 sesame"
EAR = "http://ear.example/v1"
ALONE = {"READ_ENVIRONMENT": False}
HEARD = {"content-type": "application/json"}, b'{"text": " Buy milk. "}'


class Parrot:
    """Says what it was given."""

    async def transcribe(self, audio, name, media_type, language):
        return f"{len(audio)} {name} {media_type} {language}"


@pytest.mark.parametrize(("choice", "url"), [({}, EAR), ({"READ_ENVIRONMENT": True}, EAR), (ALONE, None)])
def test_the_service_is_named_in_the_environment_unless_that_is_not_read(monkeypatch, choice, url):
    monkeypatch.setenv("TRANSCRIPTION_URL", EAR)
    assert conf.load(choice).voice.url == url


@pytest.fixture
def parrot(settings):
    """Let a class of the project listen."""
    settings.AGUI = {"VOICE": {"BACKEND": "tests.test_voice.Parrot"}}


async def record(client: Client, audio=WEBM, **form):
    return await client.http.post("/agent/transcribe/", {"file": SimpleUploadedFile("x.exe", audio), **form})


async def transcribed(client: Client, settings, *answers, audio=WEBM, **form):
    """What a client gets, and what the service was asked."""
    service = Answers(*answers)
    async with serving(service) as url:
        settings.AGUI = {"VOICE": {"URL": f"{url}/v1", "API_KEY": "sk-1", "MODEL": "ear"}}
        response = await record(client, audio, **form)
    return response, service.requests


async def test_a_recording_becomes_a_text(client: Client, settings):
    response, (request,) = await transcribed(client, settings, (200, *HEARD), language="de")
    assert (response.status_code, json.loads(response.content)) == (200, {"text": "Buy milk."})
    assert response["Cache-Control"] == "no-store"
    assert (request["method"], request["path"]) == ("POST", "/v1/audio/transcriptions")
    assert request["headers"]["authorization"] == "Bearer sk-1"
    body = request["body"]
    assert WEBM in body
    # The name is ours: a client's could be anything.
    assert b'filename="audio.webm"' in body
    assert b"x.exe" not in body
    for name, value in (("model", "ear"), ("language", "de"), ("response_format", "json")):
        assert f'name="{name}"\r\n\r\n{value}\r\n'.encode() in body


async def test_a_class_of_the_project_may_listen_to_its_users_alone(client: Client, settings, parrot):
    response = await record(client, b"RIFF....WAVE")
    assert json.loads(response.content) == {"text": "12 audio.wav audio/wav "}
    assert (await record(Client(None))).status_code == 401
    visitor = AsyncClient(enforce_csrf_checks=True)
    await visitor.aforce_login(client.user)
    response = await visitor.post("/agent/transcribe/", {"file": SimpleUploadedFile("a", WEBM)})
    assert response.status_code == 403
    assert (await client.get("transcribe/")).status_code == 405
    settings.AGUI = {}
    assert (await record(client)).status_code == 404, "nobody listens"


@pytest.mark.parametrize(
    ("status", "answer", "expected"),
    [
        (400, b'{"error": "no speech"}', 422),
        (401, b'{"error": "bad key"}', 503),
        (500, b"", 503),
        (302, b"", 503),
        (200, b"no JSON", 503),
        (200, b'{"words": []}', 503),
        (200, b'{"text": 5}', 503),
        (200, b"[]", 503),
    ],
)
async def test_what_the_service_can_t_do_is_told_without_its_words(
    client: Client, settings, caplog, status, answer, expected
):
    response, _ = await transcribed(client, settings, (status, {"location": "http://127.0.0.1:1/"}, answer))
    assert response.status_code == expected
    told = response.content.decode() + caplog.text
    assert not any(word in told for word in ("bad key", "no speech", "sk-1", "sesame"))


async def test_a_service_that_breaks_off_or_is_away_or_silent_is_unavailable(client: Client, settings):
    response, _ = await transcribed(client, settings, (200, {"content-length": "99"}, b'{"te', CUT))
    assert response.status_code == 503
    settings.AGUI = {"VOICE": {"URL": "http://127.0.0.1:1"}}
    assert (await record(client)).status_code == 503
    async with serving(Answers((200, {}, asyncio.Event()))) as url:
        settings.AGUI = {"VOICE": {"URL": url, "TIMEOUT_SECONDS": 0.2}}
        assert (await record(client)).status_code == 503


async def test_what_is_no_recording_or_too_large_goes_nowhere(client: Client, settings, parrot):
    settings.AGUI["VOICE"]["MAX_BYTES"] = 20
    for size, status in ((20, 413), (100_000, 413), (0, 200)):
        assert (await record(client, WEBM + b"." * size)).status_code == status
    for form, status in (({"audio": b"MZ a program"}, 415), ({"audio": b""}, 400), ({"language": "klingon"}, 400)):
        response, requests = await transcribed(client, settings, **form)
        assert (response.status_code, requests) == (status, [])


async def test_recordings_count_for_throttles_and_budgets(client: Client, settings, parrot):
    settings.AGUI["THROTTLE"] = {"USER": "1/hour"}
    assert (await record(client)).status_code == 200
    response = await record(client)
    assert response.status_code == 429
    assert int(response["Retry-After"]) > 0
    settings.AGUI = {"SPENDING": {"DAY": {"COST": 0}}, "VOICE": settings.AGUI["VOICE"]}
    response = await record(client)
    assert (response.status_code, json.loads(response.content)["error"]) == (429, "budget_exceeded")


async def test_clients_and_the_chat_are_told_that_somebody_listens(client: Client, settings):
    patterns = [*urls.urlpatterns, path("login/", LoginView.as_view(), name="login")]
    serve_urls(settings, patterns)
    settings.AGUI, settings.USE_THOUSAND_SEPARATOR = {"VOICE": {"URL": "http://ear", "MAX_BYTES": 20_000}}, True
    assert (await client.get("capabilities/")).json()["custom"]["transcription"] is True
    attributes = render_to_string("agui/attributes.html")
    assert 'data-transcribe-url="/agent/transcribe/"' in attributes
    assert 'data-max-recording-bytes="20000"' in attributes
    settings.AGUI = {}
    assert "transcription" not in (await client.get("capabilities/")).json().get("custom", {})
    attributes = render_to_string("agui/attributes.html")
    assert "transcribe" not in attributes
    assert "recording" not in attributes


@pytest.mark.parametrize(
    ("head", "ending"),
    [
        (b"\0\0\0\x20ftypM4A ", "m4a"),
        (b"OggS", "ogg"),
        (b"RIFF\x0a\n\n\nWAVEfmt ", "wav"),
        (b"ID3\x04", "mp3"),
        (b"\xff\xfb\x90", "mp3"),
        (b"fLaC", "flac"),
    ],
)
def test_a_recording_is_known_by_its_content(head, ending):
    assert kind_of(head)[0] == ending


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"BACKEND": "agui.contrib.voice.views.Deaf"}, r"AGUI\['VOICE'\]\['BACKEND'\].*can't be imported"),
        ({"URL": "ftp://x"}, r"AGUI\['VOICE'\]\['URL'\]"),
        ({"KEY": "sk-1"}, r"'KEY'\] is not a setting.*API_KEY"),
    ],
)
def test_a_wrong_setting_is_named_without_its_key(setting, words):
    with pytest.raises(ImproperlyConfigured, match=words) as caught:
        conf.load({"VOICE": {"API_KEY": "sk-1", **setting}})
    assert "sk-1" not in str(caught.value)


async def test_a_recognizer_of_the_recipe_turns_speech_into_text(paste, user):
    paste("send-files#turn-speech-into-text-with-your-own-recognizer")
    chat = Chat(user)
    await chat.http.aforce_login(user)
    for size, status in ((12, 200), (2 * 1024 * 1024, 413)):
        file = SimpleUploadedFile("recording", b"RIFF....WAVE".ljust(size, b"\0"))
        response = await chat.http.post("/agent/transcribe/", {"file": file, "language": "en"})
        assert response.status_code == status
        if status == 200:
            assert response.json() == {"text": "12 bytes of audio/wav in en"}
    assert (await chat.http.get("/agent/capabilities/")).json()["custom"]["transcription"] is True
