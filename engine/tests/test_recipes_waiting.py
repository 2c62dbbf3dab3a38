"""agui/manual/recipes/, the pages about approvals and tools that finish later: what each recipe claims."""

from agui.models import AuditRecord
from agui.testing import Chat, ScriptedModel, call, say


async def test_ask_before_a_tool_acts(paste, other, settings):
    recipe = paste("ask-for-approval#ask-before-a-tool-acts")
    assert await recipe.run_tests() == 1
    chat = Chat(other, call("send_message", to="Bob", text="Go!"), say("All right."))
    await chat.send("Tell Bob to go")
    answer = await chat.deny("Too rude")
    assert answer.text == "All right."
    assert "Too rude" in str(chat.model.requests[-1].tool_results)

    settings.AGUI = {**settings.AGUI, "AUTO_CONFIRM": ["send_message"]}
    chat = Chat(other, call("send_message", to="Bob", text="Go!"), say("Sent."))
    assert (await chat.send("Tell Bob")).results == ["Sent to Bob: Go!"]


async def test_ask_only_if_much_is_at_stake(paste, user):
    paste("ask-for-approval#ask-only-if-much-is-at-stake")
    chat = Chat(user, call("refund", euros=20), call("refund", euros=200), say("Done."))
    answer = await chat.send("Refund both")
    assert answer.results == ["Refunded 20 euros."]
    assert [one["message"] for one in answer.interrupts] == ["Refund 200 euros?"]
    assert (await chat.approve()).results == ["Refunded 200 euros."]


def send_message(to: str, text: str) -> str:
    return f"Sent to {to}: {text}"


async def test_answer_in_code(paste, user):
    recipe = paste("ask-for-approval#answer-in-code-without-a-page")
    recipe.registry.add(send_message, description="Send a message.", destructive=True)
    model = ScriptedModel(
        [
            [call("send_message", to="Bob", text="Come!"), call("send_message", to="Eve", text="Come!")],
            say("One went out."),
        ]
    )
    with recipe.view.agent.override(model=model):
        assert await recipe.run_at_night(user, "Tell both") == "One went out."
    told = str(model.requests[1].messages)
    assert "Sent to Bob: Come! (sent at night)" in told
    assert "Sent to Eve" not in told
    assert "Nobody can be asked at night." in told
    assert sorted([record.outcome async for record in AuditRecord.objects.all()]) == ["denied", "success"]


async def test_ask_the_user_a_question(paste, user):
    paste("finish-later#ask-the-user-a-question")
    chat = Chat(user, call("book_visit"), say("Ok."))
    [question] = (await chat.send("Book a visit")).interrupts
    assert (question["message"], question["responseSchema"]["format"]) == ("Which day suits you?", "date")
    assert (await chat.resume("2026-12-24")).results == ["2026-12-24"]


async def test_wait_for_a_job_elsewhere(paste):
    assert await paste("finish-later#wait-for-a-job-elsewhere").run_tests() == 1


async def test_run_a_tool_in_the_page(paste):
    assert await paste("finish-later#run-a-tool-in-the-page").run_tests() == 1
