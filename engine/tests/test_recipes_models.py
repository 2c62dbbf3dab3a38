"""agui/manual/recipes/, the pages about models and their cost: what each recipe claims."""

import asyncio
from dataclasses import replace

from pydantic_ai import Agent, ConcurrencyLimitedModel
from pydantic_ai.exceptions import ConcurrencyLimitExceeded, ModelHTTPError
from pydantic_ai.models.fallback import FallbackModel

from agui.testing import Chat, ScriptedModel, call, fail, say, wait
from tests.conftest import parts_of
from tests.test_recipes_capabilities import Unprepared


def again() -> str:
    return "again"


async def test_let_users_choose_from_your_models(paste, user):
    recipe = paste("choose-a-model#let-users-choose-from-your-models")
    chat = Chat(user)
    for name, said in (("quick", "Yes."), ("thorough", "Yes, because of three reasons.")):
        assert (await chat.send("Is it?", forwardedProps={"model": name})).text == said
    assert (await chat.post("Is it?", forwardedProps={"model": "dearest"})).status_code == 422
    assert sorted((await chat.http.get("/agent/capabilities/")).json()["custom"]["models"]) == ["quick", "thorough"]

    busy, other = ScriptedModel([fail(ModelHTTPError(503, "busy"))]), ScriptedModel([say("I am there.")])
    config = replace(recipe.config, model=FallbackModel(busy, other))
    recipe.view.endpoint = replace(recipe.view.endpoint, config=config)
    assert (await Chat(user).send("Hello?")).text == "I am there."


async def test_choose_how_hard_the_model_thinks(paste, user):
    paste("choose-a-model#choose-how-hard-the-model-thinks")
    chat = Chat(user, model=Unprepared([say("Yes."), say("No.")]))
    await chat.send("Is it?", forwardedProps={"thorough": True})
    assert chat.model.settings_given == {"temperature": 0.2, "max_tokens": 4000, "timeout": 60, "thinking": "high"}
    await chat.send("Is it?")
    assert chat.model.settings_given["thinking"] == "low"


async def test_limit_one_run(paste, user):
    recipe = paste("limit-cost#limit-one-run")
    recipe.registry.add(again, name="again", description="Do it again.")
    chat = Chat(user, *[call("again") for _ in range(3)], say("Done."), thread="t1")
    answer = await chat.send("Do it")
    assert answer.error == "usage_limit"
    assert len(answer.calls) == 3
    thread = (await chat.http.get("/agent/threads/t1/")).json()
    assert len([message for message in thread["messages"] if message["role"] == "tool"]) == 3
    assert (await chat.send("And now?")).text == "Done."


async def test_limit_how_much_is_asked_at_once(paste, user):
    recipe = paste("limit-cost#limit-how-much-is-asked-at-once")
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


async def test_pay_once_for_what_stays_the_same(paste, user):
    paste("limit-cost#pay-once-for-what-stays-the-same")
    chat = Chat(user, model=Unprepared([say("Hello.")]))
    await chat.send("Hi")
    assert chat.model.settings_given == {"cache": "1h"}


async def test_mark_what_a_prompt_keeps(paste):
    recipe = paste("limit-cost#mark-what-a-prompt-of-yours-keeps")
    model = ScriptedModel([say("Ten years.")])
    assert await recipe.ask("This contract ends in ten years.", "How long?", model) == "Ten years."
    [prompt] = parts_of(model.requests[0])
    assert [type(item).__name__ for item in prompt.content] == ["str", "CachePoint", "str"]
    assert prompt.content[1].ttl == "1h"


async def test_choose_the_model_in_code(paste, user):
    paste("choose-a-model#choose-the-model-in-code")
    chat = Chat(user)
    assert (await chat.send("Is it?")).text == "Yes."
    assert (await chat.send("Why?")).text == "Yes, because of three reasons."
