"""Cases against the real endpoint, the command that plays them, and conversations that become cases."""

import json
from io import StringIO

import pytest
from asgiref.sync import sync_to_async
from django.core.management import CommandError, call_command

from agui.testing import ScriptedModel, call, fail, say
from tests.conftest import Client, decision, script
from tests.recipe_pages import read_page

pytest.importorskip("pydantic_evals", exc_type=ImportError)

from agui.contrib.evals import suites as evals

CASES = """
name: sample
cases:
  - name: echoes
    inputs: {says: [Echo hello]}
    evaluators:
      - Calls: {tools: [echo]}
      - CallsWith: {tool: echo, arguments: {text: hello}}
      - Says: HELLO
      - Avoids: goodbye
"""


def suite(tmp_path, *script, text=CASES, **options):
    path = tmp_path / "sample.yaml"
    path.write_text(text)
    return evals.Suite(evals.read_cases(path), model=ScriptedModel(script), **options)


@pytest.mark.django_db(transaction=True)
async def test_a_case_passes_if_it_holds_and_says_why_it_does_not(tmp_path):
    right, wrong = [call("echo", text="hello"), say("It said hello.")], [call("whoami"), say("Goodbye.")]
    for answers, holds in ((right, True), (wrong, False)):
        report = await suite(tmp_path, *answers).run()
        found = {name: assertion.value for name, assertion in report.cases[0].assertions.items()}
        assert found == dict.fromkeys(("Calls", "CallsWith", "Says", "Avoids"), holds)
        assert evals.passed(report) == holds
    assert report.cases[0].assertions["Calls"].reason == "It called ['whoami']."

    report = await suite(tmp_path, fail(RuntimeError("The cable is cut."))).run()
    assert [failure.error_message for failure in report.failures] == ["AgentFailed: internal_error"]
    assert evals.passed(report) == 0


@pytest.mark.parametrize(("approves", "told"), [(True, "wiped all"), (False, "denied")])
@pytest.mark.django_db(transaction=True)
async def test_an_approval_is_answered_as_the_case_says(tmp_path, approves, told):
    talk = evals.Talk(says=["Wipe it", "Thanks"], approves=approves)
    one = suite(tmp_path, [say("Sure."), call("wipe")], say("Answered."), say("Welcome."))
    outcome = await one.play(talk)
    assert outcome.answers == ["Sure.\n\nAnswered.", "Welcome."]
    assert (outcome.asked, [used.name for used in outcome.calls]) == (["wipe"], ["wipe"])
    result = one.model.requests[1].messages[-1].parts[0]
    assert told in f"{result.content} {result.outcome}"


@pytest.mark.django_db(transaction=True)
async def test_each_case_has_a_user_of_its_own_and_what_it_is_given(tmp_path):
    made = []
    talk = evals.Talk(says=["Hi"], given={"tasks": 1})
    one = suite(tmp_path, say("One"), say("Two"), prepare=lambda user, given: made.append((user.pk, given)))
    for _ in range(2):
        await one.play(talk)
    assert [given for _, given in made] == [{"tasks": 1}] * 2
    assert len({pk for pk, _ in made}) == 2
    with pytest.raises(ValueError, match="write `prepare` beside the cases"):
        await suite(tmp_path).play(talk)


@pytest.mark.parametrize("flaw", ["says: []", "says: [Hi], approve: true"])
def test_a_case_that_is_wrong_is_refused(tmp_path, flaw):
    with pytest.raises(Exception, match=r"says|approve"):
        suite(tmp_path, text=f"name: sample\ncases:\n  - inputs: {{{flaw}}}\n")


# --- The command (the template's tests play it in a project)


@pytest.mark.django_db
def test_a_command_that_can_not_do_it_says_why(monkeypatch):
    with pytest.raises(CommandError, match="no conversation 't9'"):
        export("t9")
    with pytest.raises(CommandError, match="no file of cases 'taks'"):
        call_command("evaluate", "taks")
    monkeypatch.setattr("agui.contrib.evals.management.commands.evaluate.find_spec", lambda name: None)
    with pytest.raises(CommandError, match="`make eval` installs them"):
        call_command("evaluate")


# --- A conversation as a case


def export(thread, *options):
    out, err = StringIO(), StringIO()
    call_command("export_case", thread, *options, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


async def test_a_conversation_becomes_a_case_that_passes(client: Client, other_client: Client, tmp_path):
    answers = [call("echo", text="hello"), say("It said hello."), say("Bye.")]
    with script(*answers, call("wipe", _id="c1"), say("Then not.")):
        await client.run("Echo hello", thread="t1")
        await client.run("Thanks", thread="t1")
        await client.run("Wipe it", thread="t3")
        await client.run(resume=[decision("c1", approved=False)], thread="t3")
    with script(say("Sesame.")):
        await other_client.run("A secret", thread="t2")
    path = tmp_path / "t1.json"
    written, told = await sync_to_async(export)("t1", "--output", str(path))
    assert (written, told.strip()) == ("", "These are the words of ada: take out what others are not to read.")
    assert path.stat().st_mode & 0o077 == 0
    (case,) = json.loads(path.read_text())["cases"]
    assert case["inputs"] == {"says": ["Echo hello", "Thanks"]}
    assert case["expected_output"]["calls"] == [{"name": "echo", "arguments": {"text": "hello"}}]
    assert case["expected_output"]["answers"] == ["It said hello.", "Bye."]
    assert (case["metadata"]["owner"], case["metadata"]["thread"]) == ("ada", "t1")
    assert "secret" not in path.read_text()
    written, _ = await sync_to_async(export)("t3")
    assert json.loads(written)["cases"][0]["inputs"] == {"says": ["Wipe it"], "approves": False}

    for script_of_model, share in ((answers, 1), ([say("Hello."), say("Bye.")], 0)):
        report = await evals.Suite(evals.read_cases(path), model=ScriptedModel(script_of_model)).run()
        assert evals.passed(report) == share


# --- The recipe of the manual


async def test_judge_answers_with_a_rule(paste, user, tmp_path):
    recipe = paste("test-and-evaluate#judge-answers-with-a-rule-of-your-own")
    path = tmp_path / "brief.yaml"
    path.write_text(read_page("test-and-evaluate").split("```yaml\n")[1].split("```")[0])
    cases = evals.read_cases(path, (*evals.EVALUATORS, *recipe.EVALUATORS))
    assert await recipe.run_tests() == 1
    for said, good in (("Hello.", 1), ("Hello, how do you do today?", 0)):
        assert evals.passed(await evals.Suite(cases, model=ScriptedModel([say(said)])).run()) == good
