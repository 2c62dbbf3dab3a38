"""Skills: what the client is handed, and what the server makes of `/name`."""

from dataclasses import replace

import pytest

from agui import SkillRegistry, SkillSpec


@pytest.fixture
def skills() -> SkillRegistry:
    skills = SkillRegistry()
    skills.add("explain", "Explain", "Explain {topic} in {style}.")
    skills.add("plan", "Plan my day", "Plan my day.", description="For today", send_immediately=True, chip=True)
    skills.add("review", "Review", server_prompt="Secret recipe: look at everything.")
    skills.add("hello", "Say hello")
    return skills


def test_payload_is_camel_case_and_without_defaults(skills):
    plan = {"prompt": "Plan my day.", "description": "For today", "sendImmediately": True, "chip": True}
    assert skills.payload() == [
        {"name": "explain", "title": "Explain", "prompt": "Explain {topic} in {style}."},
        {"name": "plan", "title": "Plan my day", **plan},
        {"name": "review", "title": "Review"},
        {"name": "hello", "title": "Say hello"},
    ]


def test_add_and_register_are_the_same(skills):
    spec = SkillSpec("more", "More", "More!", chip=True)
    assert skills.register(spec) is spec
    assert skills.add("most", "More", "More!", chip=True) == replace(spec, name="most")
    assert ([spec.name for spec in skills][-2:], len(skills), "more" in skills) == (["more", "most"], 6, True)
    skills.add("tidy", "Tidy up", description="Sort my tasks into categories")
    assert skills.resolve("/tidy") == "Sort my tasks into categories"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"name": "plan", "title": "Again"}, "'plan' is added twice: rename one"),
        ({"name": "my plan", "title": "Plan"}, "'my plan': a name has 1 to 64 letters, digits, _ or -"),
        ({"name": "", "title": "Plan"}, "a name has 1 to 64"),
        ({"name": "untitled", "title": " "}, "'untitled' has no title: people choose it by that"),
        ({"name": "both", "title": "Both", "prompt": "a", "server_prompt": "b"}, "has a prompt and a server_prompt"),
    ],
)
def test_what_can_not_work_is_refused_with_the_cure(skills, fields, problem):
    with pytest.raises(ValueError, match=problem):
        skills.add(**fields)
    assert len(skills) == 4


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("/review", "Secret recipe: look at everything."),
        (" /review \n", "Secret recipe: look at everything."),
        ("/review only the\nlast week", "Secret recipe: look at everything.\n\nonly the\nlast week"),
        ("/plan", "Plan my day."),
        ("/hello", "Say hello"),
        ("/explain black holes", "Explain black holes in {style}."),
        (r"/explain \1 and {x}", r"Explain \1 and {x} in {style}."),
        *((text, text) for text in ("", "/", "hello", "/unknown", "/reviewer", "/review/all", "//review", "/Review")),
        ("see /review", "see /review"),
    ],
)
def test_the_server_resolves_a_command(skills, typed, meant):
    assert skills.resolve(typed) == meant
