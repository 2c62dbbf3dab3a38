"""docs/recipes/, the part about capabilities: what each page claims."""

import asyncio
from dataclasses import replace

import pytest
from django.contrib.auth.models import Group
from pydantic_ai.exceptions import UserError

from agui import build_agent
from agui.testing import Chat, ScriptedModel, call, say
from engine.conftest import parts_of


def quote(title: str) -> str:
    return f"<{title}>"


class Unprepared(ScriptedModel):
    """Keeps the settings as the agent gives them, of which it supports few; without the engine's deadline."""

    def prepare_request(self, settings, parameters):
        deadline = {"first_event_timeout": 180.0, "timeout": 180.0}
        self.settings_given = {name: value for name, value in settings.items() if deadline.get(name) != value}
        return super().prepare_request(settings, parameters)


async def test_capability_hooks(paste, user, caplog):
    recipe = paste("capability-hooks")
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


async def test_hooks(paste, user, caplog):
    recipe = paste("hooks")
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


async def test_wrapper_capability(paste, user, other):
    paste("wrapper-capability")
    user.is_staff = True
    await user.asave()
    for one, told in ((user, True), (other, False)):
        chat = Chat(one, say("Hello."))
        await chat.send("Hi")
        assert ("kind word" in chat.model.requests[0].instructions) is told


async def test_dynamic_capability(paste, user, other):
    paste("dynamic-capability")
    editors = await Group.objects.acreate(name="editors")
    await user.groups.aadd(editors)
    answer = await Chat(user, call("word_count", text="one two"), say("Two.")).send("Count")
    assert answer.results == ["2"]
    chat = Chat(other, say("No."))
    await chat.send("Count")
    assert "word_count" not in chat.model.requests[0].tools
    assert "editor" not in chat.model.requests[0].instructions


async def test_capability_ordering(paste, user):
    recipe = paste("capability-ordering")
    await Chat(user, say("Hello.")).send("Hi")
    assert recipe.order == ["Translate", "Shorten", "Measure"]
    with pytest.raises(UserError, match="requires `Shorten`"):
        build_agent(recipe.registry, replace(recipe.config, capabilities=[recipe.Translate(), recipe.Measure()]))


async def test_capability_specs(paste, user):
    paste("capability-specs")
    chat = Chat(user, model=Unprepared([say("Hello.")]))
    await chat.send("Hi")
    assert "Answer in rhymes." in chat.model.requests[0].instructions
    assert chat.model.settings_given == {"thinking": "high", "cache": "1h"}


async def test_deferred_capability(paste, user):
    paste("deferred-capability")
    chat = Chat(user, call("load_capability", id="invoices"), call("count_invoices"), say("Three."))
    answer = await chat.send("How many invoices are open?")
    first, second, third = chat.model.requests
    assert "Invoices: what is open" in first.instructions
    assert "without VAT" not in first.instructions
    assert "count_invoices" not in first.tools
    assert "count_invoices" in second.tools
    assert "without VAT" in str(second.messages) + second.instructions
    assert third.tool_results == {"count_invoices": 3}
    assert [one.name for one in answer.calls] == ["load_capability", "count_invoices"]


async def test_pending_messages(paste, user):
    paste("pending-messages")
    chat = Chat(user, call("check_stock", item="Milk"), say("None left."), thread="t1")
    answer = await chat.send("Is there milk?")
    contents = [getattr(part, "content", "") for part in parts_of(chat.model.requests[1])]
    assert "Mention that Milk will arrive on Monday." in contents
    assert answer.text == "None left."
    assert "Monday" in str(answer.activities["pydantic_ai_enqueued_messages"])
    thread = (await chat.http.get("/agent/threads/t1/")).json()
    assert [message["role"] for message in thread["messages"]] == ["user", "assistant", "tool", "activity", "assistant"]
