"""agui/manual/recipes/, the page about files: what each recipe claims."""

from typing import get_args

from django.core.files.uploadedfile import SimpleUploadedFile
from pydantic_ai import BinaryContent, ImageMediaType

from agui.testing import Chat, call, say
from tests.conftest import parts_of

PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452")


def contents_of(request):
    """What the model was sent in prompts, one by one."""
    found = [part.content for part in parts_of(request) if part.part_kind == "user-prompt"]
    return [item for content in found for item in ([content] if isinstance(content, str) else content)]


async def test_show_the_model_a_file(paste, user):
    recipe = paste("send-files#show-the-model-a-file")
    chat = Chat(user, call("look_at_plan"), say("One room."), say("As I said."), thread="t1")
    answer = await chat.send("Look at the plan")
    assert answer.results == ["The floor plan follows."]
    *_, text, plan = contents_of(chat.model.requests[1])
    assert (text, plan.data, plan.media_type) == ("Floor 1:", recipe.DOT, "image/png")

    await chat.send("And now?")
    assert not [one for one in contents_of(chat.model.requests[2]) if isinstance(one, BinaryContent)]

    chat = Chat(user, call("ring"), say("Ding."))
    assert (await chat.send("Ring")).results == ["The bell follows."]
    *_, bell, sound = contents_of(chat.model.requests[1])
    assert (type(bell).__name__, type(sound).__name__) == ("BinaryImage", "BinaryAudio")
    assert (bell.data, sound.media_type) == (recipe.DOT, "audio/wav")


async def test_name_a_file_by_its_address(paste, user):
    paste("send-files#name-a-file-by-its-address")
    names = ["lamp.png", "lamp.mp3", "lamp.mp4", "lamp.pdf"]
    calls = [call("open_file", name=name) for name in names]
    chat = Chat(user, [*calls, call("open_contract")], call("open_file", name="lamp.exe"), say("Bright."))
    answer = await chat.send("Show me the lamp")
    assert answer.results[0] == "The file is at https://example.com/lamp.png."
    shown = contents_of(chat.model.requests[1])[-5:]
    assert [type(one).__name__ for one in shown] == ["ImageUrl", "AudioUrl", "VideoUrl", "DocumentUrl", "UploadedFile"]
    types = ["image/png", "audio/mpeg", "video/mp4", "application/pdf", "application/pdf"]
    assert [one.media_type for one in shown] == types
    assert {one.force_download for one in shown[:4]} == {True}
    assert "one of these extensions" in str(chat.model.requests[2].tool_results)
    for source in (
        {"type": "url", "value": "file:///etc/passwd"},
        {"type": "file", "value": "file-1", "provider": "openai"},
    ):
        message = {"id": "m9", "role": "user", "content": [{"type": "document", "source": source}]}
        response = await chat.post(messages=[message])
        assert response.status_code == 422


async def test_decide_which_files_may_be_attached(paste, user, settings):
    paste("send-files#decide-which-files-may-be-attached")
    assert settings.AGUI["MAX_READ_BYTES"] < settings.AGUI["ATTACHMENTS"]["MAX_BYTES"]
    assert set(get_args(ImageMediaType)) < set(settings.AGUI["ATTACHMENTS"]["TYPES"])
    chat = Chat(user)
    await chat.http.aforce_login(user)
    for name, content, status in (
        ("a.png", PNG, 201),
        ("a.wav", b"RIFF....WAVE", 201),
        ("a.png", b"MZ\x90\0 a program", 415),
    ):
        file = SimpleUploadedFile(name, content, content_type="image/png")
        response = await chat.http.post("/agent/attachments/", {"file": file})
        assert response.status_code == status, response.content
    assert "PNG" in response.json()["message"]
