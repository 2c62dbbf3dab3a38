"""docs/recipes/, the part about messages and files: what each page claims."""

from typing import get_args

from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone
from pydantic_ai import BinaryContent, CompactionPart, DocumentUrl, ImageMediaType

from agui.testing import Chat, call, say
from engine.conftest import parts_of
from engine.test_recipes_capabilities import Unprepared


def contents_of(request):
    """What the model was sent in prompts, one by one."""
    found = [part.content for part in parts_of(request) if part.part_kind == "user-prompt"]
    return [item for content in found for item in ([content] if isinstance(content, str) else content)]


async def test_binary_content(paste, user):
    recipe = paste("binary-content")
    chat = Chat(user, call("look_at_plan"), say("One room."), say("As I said."), thread="t1")
    answer = await chat.send("Look at the plan")
    assert answer.results == ["The floor plan follows."]
    *_, text, plan = contents_of(chat.model.requests[1])
    assert (text, plan.data, plan.media_type) == ("Floor 1:", recipe.DOT, "image/png")
    assert type(BinaryContent.narrow_type(plan)).__name__ == "BinaryImage"

    await chat.send("And now?")
    assert not [one for one in contents_of(chat.model.requests[2]) if isinstance(one, BinaryContent)]

    chat = Chat(user, call("ring"), say("Ding."))
    assert (await chat.send("Ring")).results == ["The bell follows."]
    *_, bell, sound = contents_of(chat.model.requests[1])
    assert (type(bell).__name__, type(sound).__name__) == ("BinaryImage", "BinaryAudio")
    assert (bell.data, sound.media_type) == (recipe.DOT, "audio/wav")


async def test_file_urls(paste, user):
    paste("file-urls")
    chat = Chat(user, call("show_lamp"), say("Bright."))
    await chat.send("Show me the lamp")
    shown = contents_of(chat.model.requests[1])[-4:]
    assert [type(one).__name__ for one in shown] == ["ImageUrl", "AudioUrl", "VideoUrl", "UploadedFile"]
    assert [one.media_type for one in shown] == ["image/png", "audio/mpeg", "video/mp4", "application/pdf"]
    chat = Chat(user, call("open_manual", product="lamp"), say("Plug it in."))
    answer = await chat.send("How do I use the lamp?")
    assert answer.results == ["The manual is at https://example.com/manuals/lamp."]
    manual = contents_of(chat.model.requests[1])[-1]
    assert isinstance(manual, DocumentUrl)
    assert manual.media_type == "application/pdf"
    for source in (
        {"type": "url", "value": "file:///etc/passwd"},
        {"type": "file", "value": "file-1", "provider": "openai"},
    ):
        message = {"id": "m9", "role": "user", "content": [{"type": "document", "source": source}]}
        response = await chat.post(messages=[message])
        assert response.status_code == 422


async def test_multimodal(paste, user, settings):
    paste("multimodal")
    assert settings.AGUI["MAX_READ_BYTES"] < settings.AGUI["ATTACHMENTS"]["MAX_BYTES"]
    assert set(get_args(ImageMediaType)) < set(settings.AGUI["ATTACHMENTS"]["TYPES"])
    chat = Chat(user)
    await chat.http.aforce_login(user)
    for name, content, status in (("a.png", PNG, 201), ("a.png", b"MZ\x90\0 a program", 415)):
        file = SimpleUploadedFile(name, content, content_type="image/png")
        response = await chat.http.post("/agent/attachments/", {"file": file})
        assert response.status_code == status, response.content
    assert "image/png" in response.json()["message"]


PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452")


async def test_format_as_xml(paste, user):
    paste("format-as-xml")
    user.username = "<b>ada</b>"
    await user.asave()
    chat = Chat(user, say("Hello."))
    await chat.send("Hi")
    instructions = chat.model.requests[0].instructions
    assert "<name>&lt;b&gt;ada&lt;/b&gt;</name>" in instructions
    assert f"<today>{timezone.localdate()}</today>" in instructions


async def test_messages_builder(paste, user):
    recipe = paste("messages-builder")
    lines = [("user", "Hello"), ("user", "Anybody?"), ("agent", "Yes, I am."), ("user", "Good."), ("agent", "Bye.")]
    await recipe.import_chat(user, "old", lines)
    chat = Chat(user, say("We greeted."), thread="old")
    await chat.send("What did we say?")
    [request] = chat.model.requests
    assert [len(message.parts) for message in request.messages] == [2, 1, 1, 1, 1]
    answers = [message for message in request.messages if message.kind == "response"]
    assert [answer.model_name for answer in answers] == ["the old chat"] * 2
    thread = (await chat.http.get("/agent/threads/old/")).json()
    said = [message["content"] for message in thread["messages"]]
    assert said[-3:] == ["Bye.", "What did we say?", "We greeted."]
    threads = (await chat.http.get("/agent/threads/")).json()["threads"]
    assert [one["title"] for one in threads] == ["Hello"]


async def test_message_history(paste, user):
    recipe = paste("message-history")
    recipe.registry.add(long_list, name="long_list", description="List much.")
    chat = Chat(user, call("long_list"), say("Much."), say("Very much."), thread="t1")
    await chat.send("List it")
    await chat.send("How much?")
    first, second = ([p.content for p in parts_of(r) if p.part_kind == "tool-return"] for r in chat.model.requests[1:])
    assert first == ["x" * 200]
    assert second == ["(no longer shown)"]
    thread = (await chat.http.get("/agent/threads/t1/")).json()
    assert "x" * 200 in str(thread["messages"])


def long_list() -> str:
    return "x" * 200


async def test_prompt_caching(paste, user):
    paste("prompt-caching")
    chat = Chat(user, model=Unprepared([say("Hello.")]))
    await chat.send("Hi")
    assert chat.model.settings_given == {"cache": "1h"}


async def test_compaction(paste, user):
    recipe = paste("compaction")
    turns = 25
    chat = Chat(user, *[say(f"Answer {n}.") for n in range(turns)], thread="t1")
    for n in range(turns):
        await chat.send(f"Question {n}")
    last = chat.model.requests[-1].messages
    [summary] = [part for part in last[0].parts if isinstance(part, CompactionPart)]
    assert "Answer 0. / Answer 1." in summary.content
    assert recipe.RECENT <= len(last) <= recipe.RECENT + 2
    assert last[0].parts[-1].content.startswith("Question")  # Providers get both in one message
    thread = (await chat.http.get("/agent/threads/t1/")).json()
    assert [message["content"] for message in thread["messages"]][:2] == ["Question 0", "Answer 0."]
    assert len(thread["messages"]) == 2 * turns


async def test_ui_adapter(paste, user, other):
    recipe = paste("ui-adapter")
    await Chat(user, say("Hello."), thread="t1").send("Hi")
    told = await recipe.transcript(user, "t1")
    assert [(one["role"], one["content"]) for one in told] == [("user", "Hi"), ("assistant", "Hello.")]
    assert await recipe.transcript(other, "t1") == []


async def test_voice(paste, user):
    paste("voice")
    chat = Chat(user)
    await chat.http.aforce_login(user)
    for size, status in ((12, 200), (2 * 1024 * 1024, 413)):
        file = SimpleUploadedFile("recording", b"RIFF....WAVE".ljust(size, b"\0"))
        response = await chat.http.post("/agent/transcribe/", {"file": file, "language": "en"})
        assert response.status_code == status
        if status == 200:
            assert response.json() == {"text": "12 bytes of audio/wav in en"}
    assert (await chat.http.get("/agent/capabilities/")).json()["custom"]["transcription"] is True
