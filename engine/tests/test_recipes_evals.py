"""agui/manual/recipes/, the recipe about evals: what it claims."""

import pytest

from agui.testing import ScriptedModel, say
from tests.recipe_pages import read_page


async def test_judge_answers_with_a_rule(paste, user, tmp_path):
    pytest.importorskip("pydantic_evals", exc_type=ImportError)
    from agui.contrib.evals.suites import EVALUATORS, Suite, passed, read_cases

    recipe = paste("test-and-evaluate#judge-answers-with-a-rule-of-your-own")
    path = tmp_path / "brief.yaml"
    path.write_text(read_page("test-and-evaluate").split("```yaml\n")[1].split("```")[0])
    cases = read_cases(path, (*EVALUATORS, *recipe.EVALUATORS))
    assert await recipe.run_tests() == 1
    for said, good in (("Hello.", 1), ("Hello, how do you do today?", 0)):
        report = await Suite(cases, model=ScriptedModel([say(said)])).run()
        assert passed(report) == good
