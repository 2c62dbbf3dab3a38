"""agui/manual/recipes/, the page about agents in code: what each recipe claims."""

from agui.models import Run
from agui.testing import Chat, ScriptedModel, call, say


async def test_leave_a_part_to_another_agent(paste, user):
    paste("call-agents-from-code#leave-a-part-to-another-agent")
    chat = Chat(user, call("translate", text="cat"), say("chat"), say("It is chat."))
    assert (await chat.send("What is cat in French?")).results == ["chat"]
    assert "into French" in chat.model.requests[1].instructions
    assert (await Run.objects.aget()).usage["requests"] == 3


async def test_work_through_fixed_steps(paste, user):
    paste("call-agents-from-code#work-through-fixed-steps")
    answer = await Chat(user, call("check_out", prices=[1.5, 2]), say("Done.")).send("Check out")
    assert answer.results == ["ada owes 3.50 euros"]
    assert [e["stepName"] for e in answer.events if e["type"] == "STEP_STARTED"] == ["Add up", "Confirm"]


async def test_follow_a_run_in_your_own_code(paste, user):
    recipe = paste("call-agents-from-code#follow-a-run-in-your-own-code")
    with recipe.view.agent.override(model=ScriptedModel([say("Hello you", chunks=3)])):
        assert [word async for word in recipe.narrate(user, "Hi")] == ["Hel", "lo ", "you"]
    with recipe.view.agent.override(model=ScriptedModel([say("Hello you", chunks=3)])):
        seen, text, is_cancelled = await recipe.first_words(user, "Hi", 3)
    assert (seen, is_cancelled) == (["Hel"], True)
    assert "Hello you".startswith(text)
    assert text


async def test_ask_a_model_one_question(paste):
    recipe = paste("call-agents-from-code#ask-a-model-one-question")
    model = ScriptedModel([say(" Money\n")])
    assert await recipe.label("I want my money back", model) == "money"
    assert "one word" in model.requests[0].instructions
