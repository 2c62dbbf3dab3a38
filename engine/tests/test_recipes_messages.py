"""agui/manual/recipes/, the page about what the model reads: what each recipe claims."""

import json

import pytest
from django.utils import timezone
from pydantic_ai import CompactionPart
from pydantic_ai.models import infer_model, override_allow_model_requests
from pydantic_ai.ui.vercel_ai import VercelAIAdapter

from agui.testing import Chat, call, say
from tests.conftest import parts_of
from tests.provider_stub import Answer, ProviderStub


def long_list() -> str:
    return "x" * 200


async def test_describe_the_user_to_the_model(paste, user):
    paste("change-what-the-model-reads#describe-the-user-to-the-model")
    user.username = "<b>ada</b>"
    await user.asave()
    chat = Chat(user, say("Hello."))
    await chat.send("Hi")
    instructions = chat.model.requests[0].instructions
    assert "<name>&lt;b&gt;ada&lt;/b&gt;</name>" in instructions
    assert f"<today>{timezone.localdate()}</today>" in instructions


async def test_import_conversations(paste, user):
    recipe = paste("change-what-the-model-reads#import-conversations")
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


async def test_shorten_old_results(paste, user):
    recipe = paste("change-what-the-model-reads#shorten-old-results")
    recipe.registry.add(long_list, name="long_list", description="List much.")
    chat = Chat(user, call("long_list"), say("Much."), say("Very much."), thread="t1")
    await chat.send("List it")
    await chat.send("How much?")
    first, second = ([p.content for p in parts_of(r) if p.part_kind == "tool-return"] for r in chat.model.requests[1:])
    assert first == ["x" * 200]
    assert second == ["(no longer shown)"]
    thread = (await chat.http.get("/agent/threads/t1/")).json()
    assert "x" * 200 in str(thread["messages"])


async def test_sum_up_a_long_conversation(paste, user):
    recipe = paste("change-what-the-model-reads#sum-up-a-long-conversation")
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


async def test_export_a_conversation(paste, user, other):
    recipe = paste("change-what-the-model-reads#export-a-conversation")
    await Chat(user, say("Hello."), thread="t1").send("Hi")
    told = await recipe.transcript(user, "t1")
    assert [(one["role"], one["content"]) for one in told] == [("user", "Hi"), ("assistant", "Hello.")]
    assert await recipe.transcript(other, "t1") == []
    other_protocol = await recipe.transcript(user, "t1", VercelAIAdapter)
    assert [one["parts"][0]["text"] for one in other_protocol] == ["Hi", "Hello."]


@pytest.mark.parametrize("model", ["anthropic:claude-sonnet-5-5", "openai:gpt-5.6-terra"])
async def test_let_the_provider_sum_up(paste, user, monkeypatch, model):
    for provider in ("anthropic", "openai"):
        pytest.importorskip(provider)
        monkeypatch.setenv(f"{provider.upper()}_API_KEY", "not-a-real-key")
    with ProviderStub() as stub, override_allow_model_requests(True):
        monkeypatch.setenv("ANTHROPIC_BASE_URL", stub.url)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{stub.url}/v1")
        paste("change-what-the-model-reads#let-the-provider-sum-up")
        stub.replies = [Answer("Hello.")]
        assert (await Chat(user, model=infer_model(model)).send("Hi")).text == "Hello."
    [request] = stub.requests
    assert "100000" in json.dumps(request.body["context_management"])
