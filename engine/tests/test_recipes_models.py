"""agui/manual/recipes/, the pages about models, their answers, messages, files and search: what each recipe claims."""

import json
import re
from dataclasses import replace
from typing import get_args

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone
from pydantic_ai import Agent, BinaryContent, CompactionPart, ImageMediaType
from pydantic_ai.embeddings import TestEmbeddingModel
from pydantic_ai.models import infer_model
from pydantic_ai.native_tools import CodeExecutionTool, ImageGenerationTool, WebFetchTool, WebSearchTool, XSearchTool
from pydantic_ai.ui.vercel_ai import VercelAIAdapter

from agui.agents.llm import resolve_model
from agui.testing import Chat, ScriptedModel, call, say
from tests.conftest import parts_of, prompts_of
from tests.mounting import answering
from tests.provider_stub import Answer
from tests.recipe_pages import read_recipes


class Recording(ScriptedModel):
    """A model with all that providers may have, which keeps what it was given, without the engine's deadline."""

    @classmethod
    def supported_native_tools(cls):
        return frozenset({CodeExecutionTool, ImageGenerationTool, WebFetchTool, WebSearchTool, XSearchTool})

    @property
    def profile(self):
        return {**super().profile, "supports_json_schema_output": True}

    def prepare_request(self, settings, parameters):
        deadline = {"first_event_timeout": 180.0, "timeout": 180.0}
        self.settings_given = {name: value for name, value in (settings or {}).items() if deadline.get(name) != value}
        self.mode = parameters.output_mode
        prepared = super().prepare_request(settings, parameters)
        self.native = sorted(tool.kind for tool in prepared[1].native_tools)
        return prepared


async def test_let_users_choose_from_your_models(paste, user):
    paste("choose-a-model#let-users-choose-from-your-models")
    chat = Chat(user)
    for name, said in (("quick", "Yes."), ("thorough", "Yes, because of three reasons.")):
        assert (await chat.send("Is it?", forwardedProps={"model": name})).text == said
    assert (await chat.post("Is it?", forwardedProps={"model": "dearest"})).status_code == 422


async def test_use_a_server_with_openais_interface(paste, user, stub, monkeypatch):
    """Each row of the table, as it stands in .env, leads to the server's chat completions."""
    name_of_recipe = "choose-a-model#use-a-server-with-openais-interface"
    recipe = paste(name_of_recipe)
    rows = re.findall(r"^\| [^|]+ \| (`AGENT_MODEL=.*?) \|$", read_recipes()[name_of_recipe], re.M)
    rows.append("`AGENT_MODEL=python:assistant.llm.gateway` `GATEWAY_URL=http://gateway/v1` `GATEWAY_KEY=k`")
    assert len(rows) == 6
    monkeypatch.delenv("OPENAI_BASE_URL")
    for row in rows:
        variables = dict(one.split("=", 1) for one in re.findall(r"`([^`]+)`", row))
        name = variables.pop("AGENT_MODEL")
        for variable, value in variables.items():
            monkeypatch.setenv(variable, re.sub(r"https?://[^/]+(/openai)?", stub.url, value))
        if name.startswith("openrouter:"):
            assert resolve_model(name).base_url == "https://openrouter.ai/api/v1/"
            continue
        stub.replies = [Answer("Hello.")]
        with answering(model=name):
            assert (await Chat(user).send("Hi")).text == "Hello."
        asked = stub.requests.pop()
        assert asked.path == "/v1/chat/completions"
        assert asked.body["model"] in (name.partition(":")[2], "qwen3-8b")
    assert recipe.gateway().system == "gateway"


async def test_choose_how_hard_the_model_thinks(paste, user):
    paste("choose-a-model#choose-how-hard-the-model-thinks")
    chat = Chat(user, model=Recording([say("Yes."), say("No.")]))
    await chat.send("Is it?", forwardedProps={"thorough": True})
    assert chat.model.settings_given == {"temperature": 0.2, "max_tokens": 4000, "timeout": 60, "thinking": "high"}
    await chat.send("Is it?")
    assert chat.model.settings_given["thinking"] == "low"


async def test_choose_the_model_in_code(paste, user):
    paste("choose-a-model#choose-the-model-in-code")
    chat = Chat(user)
    assert (await chat.send("Is it?")).text == "Yes."
    assert (await chat.send("Why?")).text == "Yes, because of three reasons."


async def test_limit_one_run(paste, user):
    recipe = paste("limit-cost#limit-one-run")
    recipe.registry.add(lambda: "again", name="again", description="Do it again.")
    chat = Chat(user, *[call("again") for _ in range(3)], say("Done."))
    answer = await chat.send("Do it")
    assert (answer.error, len(answer.calls), len(answer.results)) == ("usage_limit", 3, 3)
    assert (await chat.send("And now?")).text == "Done."


async def test_pay_once_for_what_stays_the_same(paste, user):
    paste("limit-cost#pay-once-for-what-stays-the-same")
    chat = Chat(user, model=Recording([say("Hello.")]))
    await chat.send("Hi")
    assert chat.model.settings_given == {"cache": "1h"}


async def test_mark_what_a_prompt_keeps(paste):
    recipe = paste("limit-cost#mark-what-a-prompt-of-yours-keeps")
    model = ScriptedModel([say("Ten years.")])
    assert await recipe.ask("This contract ends in ten years.", "How long?", model) == "Ten years."
    [prompt] = parts_of(model.requests[0])
    assert [type(item).__name__ for item in prompt.content] == ["str", "CachePoint", "str"]
    assert prompt.content[1].ttl == "1h"


async def test_read_capabilities_from_a_file(paste, user):
    paste("arrange-capabilities#read-capabilities-from-a-file")
    chat = Chat(user, model=Recording([say("Hello.")]))
    await chat.send("Hi")
    assert "Answer in rhymes." in chat.model.requests[0].instructions
    assert chat.model.settings_given == {"thinking": "high", "cache": "1h"}


async def test_ask_a_model_one_question(paste):
    recipe = paste("call-agents-from-code#ask-a-model-one-question")
    model = ScriptedModel([say(" Money\n")])
    assert await recipe.label("I want my money back", model) == "money"
    assert "one word" in model.requests[0].instructions


async def test_follow_a_run_in_your_own_code(paste, user):
    recipe = paste("call-agents-from-code#follow-a-run-in-your-own-code")
    with recipe.view.agent.override(model=ScriptedModel([say("Hello you", chunks=3)] * 2)):
        assert [word async for word in recipe.narrate(user, "Hi")] == ["Hel", "lo ", "you"]
        seen, text, is_cancelled = await recipe.first_words(user, "Hi", 3)
    assert (seen, is_cancelled) == (["Hel"], True)
    assert text
    assert "Hello you".startswith(text)


# --- Answers with fields


async def test_see_when_the_answer_begins(paste, user):
    recipe = paste("answers-with-fields#see-when-the-answer-begins")
    recipe.registry.add(lambda: "again", name="again", description="Do it again.")
    deps = recipe.AgentDeps(user=user, thread_id="t1", run_id="r1", state=recipe.TaskState())
    with recipe.view.agent.override(model=ScriptedModel([[say("Wait."), call("again")], say("Done.")])):
        seen, output = await recipe.watch(recipe.view.agent, "Do it", deps=deps)
    assert seen[-2:] == ["text", "answer by text"]
    assert seen[:-2].count("tool-call") == 1
    assert output == "Done."

    model = ScriptedModel([call("final_result", response=7), call("final_result", response=8)])
    agent = Agent(model, output_type=int)
    seen, output = await recipe.watch(agent, "How many?")
    assert seen == ["tool-call", "answer by final_result", "final_result is checked", "final_result: success"]
    assert output == 7
    final = await recipe.end_of(agent, "And now?")
    assert (final.output, final.tool_name) == (8, "final_result")


async def test_choose_how_the_model_writes_the_fields(paste):
    recipe = paste("answers-with-fields#choose-how-the-model-writes-the-fields")
    json = '{"number": "7", "total": 9.5}'
    answers = {"tool": call("invoice", number="7", total=9.5), "native": say(json), "prompted": say(json)}
    for form, answer in answers.items():
        model = Recording([answer])
        invoice = await recipe.read_invoice("No 7: 9.50", model, form)
        assert (invoice.number, invoice.total, model.mode) == ("7", 9.5, form)
        assert ("JSON of this schema" in (model.requests[0].instructions or "")) is (form == "prompted")


async def test_correct_the_fields_before_they_are_checked(paste):
    recipe = paste("answers-with-fields#correct-the-fields-before-they-are-checked")
    model = ScriptedModel([call("final_result", product="LAMP", count="two")])
    result = await recipe.order_reader.run("Two lamps", model=model)
    assert (result.output.product, result.output.count) == ("lamp", 2)


# --- What the model reads


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
    messages = (await chat.http.get("/agent/threads/old/")).json()["messages"]
    assert [message["content"] for message in messages][-3:] == ["Bye.", "What did we say?", "We greeted."]


async def test_shorten_old_results(paste, user):
    recipe = paste("change-what-the-model-reads#shorten-old-results")
    recipe.registry.add(lambda: "x" * 200, name="long_list", description="List much.")
    chat = Chat(user, call("long_list"), say("Much."), say("Very much."), thread="t1")
    assert (await chat.send("List it")).results == ["x" * 200]
    await chat.send("How much?")
    read = [part for request in chat.model.requests[1:] for part in parts_of(request)]
    results = [part.content for part in read if part.part_kind == "tool-return"]
    assert results == ["x" * 200, "(no longer shown)"]
    assert "x" * 200 in str((await chat.http.get("/agent/threads/t1/")).json()["messages"])


async def test_sum_up_a_long_conversation(paste, user):
    recipe = paste("change-what-the-model-reads#sum-up-a-long-conversation")
    chat = Chat(user, *[say(f"Answer {n}.") for n in range(25)], thread="t1")
    for n in range(25):
        await chat.send(f"Question {n}")
    last = chat.model.requests[-1].messages
    [summary] = [part for part in last[0].parts if isinstance(part, CompactionPart)]
    assert "Answer 0. / Answer 1." in summary.content
    assert recipe.RECENT <= len(last) <= recipe.RECENT + 2
    assert last[0].parts[-1].content.startswith("Question")  # Providers get both in one message
    messages = (await chat.http.get("/agent/threads/t1/")).json()["messages"]
    assert [message["content"] for message in messages][:2] == ["Question 0", "Answer 0."]


async def test_export_a_conversation(paste, user, other):
    recipe = paste("change-what-the-model-reads#export-a-conversation")
    await Chat(user, say("Hello."), thread="t1").send("Hi")
    told = await recipe.transcript(user, "t1")
    assert [(one["role"], one["content"]) for one in told] == [("user", "Hi"), ("assistant", "Hello.")]
    assert await recipe.transcript(other, "t1") == []
    other_protocol = await recipe.transcript(user, "t1", VercelAIAdapter)
    assert [one["parts"][0]["text"] for one in other_protocol] == ["Hi", "Hello."]


@pytest.mark.parametrize("model", ["anthropic:claude-sonnet-5-5", "openai:gpt-5.6-terra"])
async def test_let_the_provider_sum_up(paste, user, stub, model):
    for provider in ("anthropic", "openai"):
        pytest.importorskip(provider)
    paste("change-what-the-model-reads#let-the-provider-sum-up")
    stub.replies = [Answer("Hello.")]
    assert (await Chat(user, model=infer_model(model)).send("Hi")).text == "Hello."
    assert "100000" in json.dumps(stub.requests[0].body["context_management"])


# --- Files


PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452")


def contents_of(request):
    """What the model was sent in prompts, one by one."""
    return [item for content in prompts_of(request) for item in ([content] if isinstance(content, str) else content)]


async def test_show_the_model_a_file(paste, user):
    recipe = paste("send-files#show-the-model-a-file")
    chat = Chat(user, call("look_at_plan"), say("One room."), call("ring"), say("Ding."))
    assert (await chat.send("Look at the plan")).results == ["The floor plan follows."]
    assert (await chat.send("Ring")).results == ["The bell follows."]
    *_, text, plan = contents_of(chat.model.requests[1])
    assert (text, plan.data, plan.media_type) == ("Floor 1:", recipe.DOT, "image/png")
    # The plan is no longer shown.
    assert not [one for one in contents_of(chat.model.requests[2]) if isinstance(one, BinaryContent)]
    *_, bell, sound = contents_of(chat.model.requests[3])
    assert (type(bell).__name__, type(sound).__name__) == ("BinaryImage", "BinaryAudio")


async def test_name_a_file_by_its_address(paste, user):
    paste("send-files#name-a-file-by-its-address")
    calls = [call("open_file", name=f"lamp.{ending}") for ending in ("png", "mp3", "mp4", "pdf")]
    chat = Chat(user, [*calls, call("open_contract")], call("open_file", name="lamp.exe"), say("Bright."))
    answer = await chat.send("Show me the lamp")
    assert answer.results[0] == "The file is at https://example.com/lamp.png."
    shown = contents_of(chat.model.requests[1])[-5:]
    assert [(type(one).__name__, one.media_type) for one in shown] == [
        ("ImageUrl", "image/png"),
        ("AudioUrl", "audio/mpeg"),
        ("VideoUrl", "video/mp4"),
        ("DocumentUrl", "application/pdf"),
        ("UploadedFile", "application/pdf"),
    ]
    assert {one.force_download for one in shown[:4]} == {True}
    assert "one of these extensions" in str(chat.model.requests[2].tool_results)


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


# --- Search


async def test_search_with_the_provider_or_a_function(paste, user):
    paste("search#search-with-the-provider-or-with-a-function-of-yours")
    chat = Chat(user, model=Recording([say("Found.")]))
    await chat.send("Search")
    assert chat.model.native == ["web_search"]
    assert "search_the_manual" not in chat.model.requests[0].tools
    answer = await Chat(user, call("search_the_manual", query="lamps"), say("Found.")).send("Search")
    assert answer.results == [["Page 3 is about lamps."]]


async def test_let_the_provider_run_its_tools(paste, user):
    paste("search#let-the-provider-run-its-tools")
    chat = Chat(user, model=Recording([say("Found.")]))
    assert (await chat.send("Search")).text == "Found."
    assert chat.model.native == ["code_execution", "web_search"]
    assert (await Chat(user, say("Never asked.")).send("Search")).error == "internal_error"


async def test_find_texts_by_their_meaning(paste, user):
    recipe = paste("search#find-texts-by-their-meaning")

    class ByLetters(TestEmbeddingModel):
        async def embed(self, inputs, *, input_type, settings=None):
            result = await super().embed(inputs, input_type=input_type, settings=settings)
            vectors = [[text.count("money") + 0.1, text.count("parcel") + 0.1] for text in result.inputs]
            return replace(result, embeddings=vectors)

    with recipe.embedder.override(model=ByLetters()):
        calls = [call("find_article", question="I want my money back"), call("find_article", question="My parcel?")]
        answer = await Chat(user, calls, say("See there.")).send("Help")
    assert answer.results == ["Refunds", "Delivery"]


async def test_use_more_tools_that_some_providers_have(paste, user):
    paste("search#use-more-tools-that-some-providers-have")
    chat = Chat(user, model=Recording([say("Found.")]))
    await chat.send("Look")
    assert chat.model.native == ["code_execution", "image_generation", "web_fetch", "x_search"]
    assert not chat.model.requests[0].tools

    fetch, posts = call("fetch", url="https://example.com"), call("search_posts", query="lamps")
    calls = [fetch, posts, call("add_up", numbers=[1, 2.5]), call("draw", prompt="a lamp")]
    answer = await Chat(user, calls, say("Found.")).send("Look")
    assert answer.results[:3] == ["The text of https://example.com", ["A post about lamps"], "3.5"]
    assert len(answer.results) == 4
