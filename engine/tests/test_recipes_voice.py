"""agui/manual/recipes/, the recipe about speech: what it claims."""

from django.core.files.uploadedfile import SimpleUploadedFile

from agui.testing import Chat


async def test_turn_speech_into_text(paste, user):
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
