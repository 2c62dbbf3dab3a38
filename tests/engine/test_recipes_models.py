"""docs/recipes/, the part about models: what each page claims."""

import asyncio
from dataclasses import replace

from pydantic_ai import Agent, ConcurrencyLimitedModel
from pydantic_ai.embeddings import TestEmbeddingModel
from pydantic_ai.exceptions import ConcurrencyLimitExceeded, ModelHTTPError
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.native_tools import CodeExecutionTool, WebSearchTool
from pydantic_ai.usage import RequestUsage

from agui.models import Run
from agui.testing import Chat, Response, ScriptedModel, call, fail, say, wait
from engine.test_recipes_capabilities import Unprepared


async def test_model_settings(paste, user):
    paste("model-settings")
    chat = Chat(user, model=Unprepared([say("Yes."), say("No.")]))
    await chat.send("Is it?", forwardedProps={"thorough": True})
    assert chat.model.settings_given == {"temperature": 0.2, "max_tokens": 4000, "timeout": 60, "thinking": "high"}
    await chat.send("Is it?")
    assert chat.model.settings_given["thinking"] == "low"


async def test_model_choice(paste, user):
    recipe = paste("model-choice")
    chat = Chat(user)
    for name, said in (("quick", "Yes."), ("thorough", "Yes, because of three reasons.")):
        assert (await chat.send("Is it?", forwardedProps={"model": name})).text == said
    assert (await chat.post("Is it?", forwardedProps={"model": "dearest"})).status_code == 422
    assert sorted((await chat.http.get("/agent/capabilities/")).json()["custom"]["models"]) == ["quick", "thorough"]
    assert isinstance(recipe.view.agent.model, FallbackModel)

    busy, other = ScriptedModel([fail(ModelHTTPError(503, "busy"))]), ScriptedModel([say("I am there.")])
    config = replace(recipe.config, model=FallbackModel(busy, other))
    recipe.view.endpoint = replace(recipe.view.endpoint, config=config)
    assert (await Chat(user).send("Hello?")).text == "I am there."


async def test_usage_limits(paste, user):
    recipe = paste("usage-limits")
    recipe.registry.add(again, name="again", description="Do it again.")
    chat = Chat(user, *[call("again") for _ in range(3)], say("Done."), thread="t1")
    answer = await chat.send("Do it")
    assert answer.error == "usage_limit"
    assert len(answer.calls) == 3
    thread = (await chat.http.get("/agent/threads/t1/")).json()
    assert len([message for message in thread["messages"] if message["role"] == "tool"]) == 3
    assert (await chat.send("And now?")).text == "Done."


def again() -> str:
    return "again"


async def test_errors(paste):
    assert await paste("errors").run_tests() == 2


async def test_concurrency(paste, user):
    recipe = paste("concurrency")
    assert isinstance(recipe.view.agent.model, ConcurrencyLimitedModel)
    let_go = asyncio.Event()
    script = ScriptedModel([wait(let_go), say("Hello.")] for _ in range(12))
    agent = Agent(recipe.limited(script))
    runs = [asyncio.create_task(agent.run(f"Run {n}")) for n in range(13)]
    refused, waiting = await asyncio.wait(runs, return_when=asyncio.FIRST_COMPLETED)
    assert [type(run.exception()) for run in refused] == [ConcurrencyLimitExceeded]
    assert len(script.requests) == 2
    let_go.set()
    assert [(await run).output for run in waiting] == ["Hello."] * 12


async def test_budgets(paste, user, other):
    paste("budgets")
    used = Response([say("Hello.")], usage=RequestUsage(input_tokens=40_000, output_tokens=2_000))
    chat = Chat(user, used, call("my_spending"), used, used, say("Never asked."))
    await chat.send("Hi")
    answer = await chat.send("What have I used?")
    assert answer.results == ["42000 tokens, -; this turn so far 15 tokens"]
    assert (await chat.send("Go on")).text == "Hello."
    response = await chat.post("And now?")
    assert (response.status_code, response.json()["error"]) == (429, "budget_exceeded")
    assert response.json()["resets_at"]

    much = Response([call("my_spending")], usage=RequestUsage(input_tokens=51_000))
    assert (await Chat(other, much, say("Never asked.")).send("Hi")).error == "usage_limit"


async def test_output_types(paste, user):
    paste("output-types")
    wrong, right = call("final_result", number="7", total=-1), call("final_result", number="7", total=9.5)
    chat = Chat(user, call("read_invoice", text="No 7: 9.50"), wrong, right, say("It is 9.50."), thread="t1")
    answer = await chat.send("Read it")
    assert answer.results == [{"number": "7", "total": 9.5}]
    assert len(chat.model.requests) == 4
    assert (await Run.objects.aget()).usage["requests"] == 4


async def test_direct_requests(paste):
    recipe = paste("direct-requests")
    model = ScriptedModel([say(" Money\n")])
    assert await recipe.label("I want my money back", model) == "money"
    assert "one word" in model.requests[0].instructions


async def test_embeddings(paste, user):
    recipe = paste("embeddings")

    class ByLetters(TestEmbeddingModel):
        async def embed(self, inputs, *, input_type, settings=None):
            result = await super().embed(inputs, input_type=input_type, settings=settings)
            vectors = [[text.count("money") + 0.1, text.count("parcel") + 0.1] for text in result.inputs]
            return replace(result, embeddings=vectors)

    with recipe.embedder.override(model=ByLetters()):
        calls = [call("find_article", question="I want my money back"), call("find_article", question="My parcel?")]
        answer = await Chat(user, calls, say("See there.")).send("Help")
    assert answer.results == ["Refunds", "Delivery"]


async def test_graphs(paste, user):
    paste("graphs")
    answer = await Chat(user, call("check_out", prices=[1.5, 2]), say("Done.")).send("Check out")
    assert answer.results == ["ada owes 3.50 euros"]
    assert [e["stepName"] for e in answer.events if e["type"] == "STEP_STARTED"] == ["Add up", "Confirm"]


class Searching(ScriptedModel):
    """A model whose provider has tools, and that keeps which it was given."""

    @classmethod
    def supported_native_tools(cls):
        return frozenset({CodeExecutionTool, WebSearchTool})

    def prepare_request(self, settings, parameters):
        prepared = super().prepare_request(settings, parameters)
        self.native = [tool.kind for tool in prepared[1].native_tools]
        return prepared


async def test_native_tools(paste, user):
    paste("native-tools")
    chat = Chat(user, model=Searching([say("Found.")]))
    assert (await chat.send("Search")).text == "Found."
    assert sorted(chat.model.native) == ["code_execution", "web_search"]
    assert (await Chat(user, say("Never asked.")).send("Search")).error == "internal_error"


async def test_web_search(paste, user):
    paste("web-search")
    chat = Chat(user, model=Searching([say("Found.")]))
    await chat.send("Search")
    assert chat.model.native == ["web_search"]
    assert "search_the_manual" not in chat.model.requests[0].tools
    answer = await Chat(user, call("search_the_manual", query="lamps"), say("Found.")).send("Search")
    assert answer.results == [["Page 3 is about lamps."]]


async def test_streaming(paste, user):
    recipe = paste("streaming")
    with recipe.view.agent.override(model=ScriptedModel([say("Hello you", chunks=3)])):
        assert [word async for word in recipe.narrate(user, "Hi")] == ["Hel", "lo ", "you"]
    with recipe.view.agent.override(model=ScriptedModel([say("Hello you", chunks=3)])):
        seen, text, is_cancelled = await recipe.first_words(user, "Hi", 3)
    assert (seen, is_cancelled) == (["Hel"], True)
    assert "Hello you".startswith(text)
    assert text


async def test_final_result(paste, user):
    recipe = paste("final-result")
    recipe.registry.add(again, name="again", description="Do it again.")
    deps = recipe.AgentDeps(user=user, thread_id="t1", run_id="r1", state=recipe.TaskState())
    with recipe.view.agent.override(model=ScriptedModel([[say("Wait."), call("again")], say("Done.")])):
        seen, output = await recipe.watch(recipe.view.agent, "Do it", deps=deps)
    assert seen[-2:] == ["text", "answer by text"]
    assert seen[:-2].count("tool-call") == 1
    assert output == "Done."


async def test_follow_ups(paste, user):
    recipe = paste("follow-ups")
    suggested = call("final_result", response=["Buy it", "Drink it", "Spill it"])
    config = replace(recipe.config, model=ScriptedModel([say("There is milk."), suggested]))
    recipe.view.endpoint = replace(recipe.view.endpoint, config=config)
    chat = Chat(user)
    answer = await chat.send("Is there milk?")
    assert answer.text == "There is milk."
    assert answer.events[-2]["name"] == "follow_ups"
    assert answer.events[-2]["value"]["suggestions"] == ["Buy it", "Drink it"]
    thread = (await chat.http.get(f"/agent/threads/{chat.thread}/")).json()
    assert thread["messages"][-1]["metadata"]["follow_ups"] == ["Buy it", "Drink it"]
