"""agui/manual/recipes/, the page about answers with fields: what each recipe claims."""

from pydantic_ai import Agent

from agui.models import Run
from agui.testing import Chat, ScriptedModel, call, say


def again() -> str:
    return "again"


async def test_read_fields_from_a_text(paste, user):
    paste("answers-with-fields#read-fields-from-a-text")
    wrong, right = call("final_result", number="7", total=-1), call("final_result", number="7", total=9.5)
    chat = Chat(user, call("read_invoice", text="No 7: 9.50"), wrong, right, say("It is 9.50."), thread="t1")
    answer = await chat.send("Read it")
    assert answer.results == [{"number": "7", "total": 9.5}]
    assert len(chat.model.requests) == 4
    assert (await Run.objects.aget()).usage["requests"] == 4


async def test_see_when_the_answer_begins(paste, user):
    recipe = paste("answers-with-fields#see-when-the-answer-begins")
    recipe.registry.add(again, name="again", description="Do it again.")
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


class Structured(ScriptedModel):
    """A model whose provider holds it to a schema; it keeps how it was asked."""

    @property
    def profile(self):
        return {**super().profile, "supports_json_schema_output": True}

    def prepare_request(self, settings, parameters):
        self.mode = parameters.output_mode
        return super().prepare_request(settings, parameters)


async def test_choose_how_the_model_writes_the_fields(paste):
    recipe = paste("answers-with-fields#choose-how-the-model-writes-the-fields")
    json = '{"number": "7", "total": 9.5}'
    answers = {"tool": call("invoice", number="7", total=9.5), "native": say(json), "prompted": say(json)}
    for form, answer in answers.items():
        model = Structured([answer])
        invoice = await recipe.read_invoice("No 7: 9.50", model, form)
        assert (invoice.number, invoice.total, model.mode) == ("7", 9.5, form)
        assert ("JSON of this schema" in (model.requests[0].instructions or "")) is (form == "prompted")


async def test_correct_the_fields_before_they_are_checked(paste):
    recipe = paste("answers-with-fields#correct-the-fields-before-they-are-checked")
    model = ScriptedModel([call("final_result", product="LAMP", count="two")])
    result = await recipe.order_reader.run("Two lamps", model=model)
    assert (result.output.product, result.output.count) == ("lamp", 2)
