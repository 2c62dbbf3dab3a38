"""agui/manual/recipes/, the pages about code around a run and capabilities: what each recipe claims."""

import asyncio
from dataclasses import replace

import pytest
from pydantic_ai.exceptions import UserError

from agui import build_agent
from agui.testing import Chat, ScriptedModel, call, say


def quote(title: str) -> str:
    return f"<{title}>"


class Unprepared(ScriptedModel):
    """Keeps the settings as the agent gives them, of which it supports few; without the engine's deadline."""

    def prepare_request(self, settings, parameters):
        deadline = {"first_event_timeout": 180.0, "timeout": 180.0}
        self.settings_given = {name: value for name, value in settings.items() if deadline.get(name) != value}
        return super().prepare_request(settings, parameters)


async def test_change_arguments_and_answers(paste, user, caplog):
    recipe = paste("run-code-around-a-run#change-arguments-and-answers")
    recipe.registry.add(quote, name="add_task", description="Add a task.")
    chat = Chat(user, call("add_task", title=" Milk "), say("Added."), say("Hello."))
    answer = await chat.send("Milk")
    assert answer.results == ["<Milk>"]
    assert "Never promise a date." in chat.model.requests[0].instructions
    await chat.send("Hi")
    assert chat.model.requests[-1].messages[1].metadata["asked_by"] == "ada"

    config = replace(recipe.config, capabilities=[recipe.HouseRules(closed=True)])
    recipe.view.endpoint = replace(recipe.view.endpoint, config=config)
    assert (await Chat(user, say("Never asked.")).send("Hi")).text == "We are closed. Try again tomorrow."


async def test_log_what_a_run_does(paste, user, caplog):
    recipe = paste("run-code-around-a-run#log-what-a-run-does")
    caplog.set_level("INFO", "assistant.agent")
    await Chat(user, say("Hello.")).send("Hi")
    ours = [record.getMessage() for record in caplog.records if record.name == "assistant.agent"]
    assert ours == ["ada asks with 1 messages", "ada used 15 tokens"]

    @recipe.hooks.on.before_model_request(timeout=0.001)
    async def hang(ctx, request_context):
        await asyncio.Event().wait()

    answer = await Chat(user, say("Never asked.")).send("Hi")
    assert answer.error == "internal_error"
    assert "HookTimeoutError" in caplog.text
    assert "hang took more than 0.001 seconds" in caplog.text


async def test_choose_which_capability_comes_first(paste, user):
    recipe = paste("arrange-capabilities#choose-which-capability-comes-first")
    await Chat(user, say("Hello.")).send("Hi")
    assert recipe.order == ["Translate", "Shorten", "Measure"]
    with pytest.raises(UserError, match="requires `Shorten`"):
        build_agent(recipe.registry, replace(recipe.config, capabilities=[recipe.Translate(), recipe.Measure()]))


async def test_read_capabilities_from_a_file(paste, user):
    paste("arrange-capabilities#read-capabilities-from-a-file")
    chat = Chat(user, model=Unprepared([say("Hello.")]))
    await chat.send("Hi")
    assert "Answer in rhymes." in chat.model.requests[0].instructions
    assert chat.model.settings_given == {"thinking": "high", "cache": "1h"}


async def test_time_each_layer_of_a_run(paste, user, caplog):
    recipe = paste("run-code-around-a-run#time-each-layer-of-a-run")
    recipe.registry.add(quote, name="add_task", description="Add a task.")
    caplog.set_level("INFO", "assistant.agent")
    assert (await Chat(user, call("add_task", title="Milk"), say("Added.")).send("Milk")).text == "Added."
    ours = [record.getMessage() for record in caplog.records if record.name == "assistant.agent"]
    layers = [line.partition(" took ")[0] for line in ours if " took " in line]
    assert layers.index("arguments of add_task") < layers.index("add_task") < layers.index("CallToolsNode")
    assert layers.count("ModelRequestNode") == 2
    assert layers[-1] == "run"
    assert [line for line in ours if line.endswith(" events") and line != "0 events"]
