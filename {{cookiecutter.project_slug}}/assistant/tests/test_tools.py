"""The example's tools, called through the registry, as a user and without a model."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from pydantic import ValidationError
from pydantic_ai import ModelRetry

from agui import needs_confirmation
from agui.testing import ToolContext
from agui.testing import as_user as context_of
from assistant.models import Task
from assistant.tools import TaskState, registry

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> Any:
    return get_user_model().objects.create_user("ada")


@pytest.fixture
def bob() -> Any:
    return get_user_model().objects.create_user("bob")


def as_user(user: Any, category: str = "") -> ToolContext:
    """What a tool gets as `ctx` when this user asks."""
    return context_of(user, state=TaskState(category=category))


def titles(tasks: list[dict[str, Any]]) -> list[str]:
    return [task["title"] for task in tasks]


def test_an_added_task_is_listed(ada):
    added = registry.call("add_task", {"title": "Buy milk", "category": "home"}, ctx=as_user(ada))
    assert registry.call("list_tasks", {}, ctx=as_user(ada)) == [
        {"id": added["id"], "title": "Buy milk", "category": "home", "done": False}
    ]


@pytest.mark.parametrize("title", ["", "x" * 201])
def test_a_title_that_does_not_fit_is_refused(ada, title):
    with pytest.raises(ValidationError):
        registry.call("add_task", {"title": title}, ctx=as_user(ada))


def test_a_completed_task_is_listed_only_on_demand(ada):
    task = Task.objects.create(owner=ada, title="Buy milk")
    assert (
        registry.call("complete_task", {"task_id": task.pk}, ctx=as_user(ada)) == "Done: Buy milk"
    )
    assert registry.call("list_tasks", {}, ctx=as_user(ada)) == []
    assert titles(registry.call("list_tasks", {"include_done": True}, ctx=as_user(ada))) == [
        "Buy milk"
    ]


def test_an_unknown_task_makes_the_model_look_again(ada):
    with pytest.raises(ModelRetry, match="There is no task 99"):
        registry.call("complete_task", {"task_id": 99}, ctx=as_user(ada))


def test_the_summary_counts_by_category(ada):
    for category, done in [("home", False), ("home", True), ("home", True), ("work", False)]:
        Task.objects.create(owner=ada, title="Something", category=category, done=done)
    assert registry.call("summarize_tasks", {}, ctx=as_user(ada)) == {
        "home": {"open": 1, "finished": 2},
        "work": {"open": 1, "finished": 0},
    }


@pytest.mark.django_db(transaction=True)
async def test_the_chart_has_a_series_of_open_and_one_of_finished_tasks(ada):
    ctx = as_user(ada)
    assert "no tasks yet" in await registry.acall("chart_tasks", {}, ctx=ctx)
    assert ctx.shown == {}
    for category, done in [("home", False), ("home", True), ("home", True), ("work", False)]:
        await Task.objects.acreate(owner=ada, title="Something", category=category, done=done)
    assert await registry.acall("chart_tasks", {}, ctx=ctx) == "The user sees the chart."
    chart = ctx.shown["chart"]
    assert (chart["labels"], chart["type"]) == (["home", "work"], "stacked")
    assert chart["series"] == [
        {"name": "Open", "values": [1, 1]},
        {"name": "Finished", "values": [2, 0]},
    ]


def test_deleting_spares_open_tasks(ada):
    Task.objects.create(owner=ada, title="Open")
    Task.objects.create(owner=ada, title="Finished", done=True)
    assert (
        registry.call("delete_finished_tasks", {}, ctx=as_user(ada)) == "Deleted 1 finished tasks."
    )
    assert titles(registry.call("list_tasks", {"include_done": True}, ctx=as_user(ada))) == ["Open"]


@pytest.mark.parametrize(("name", "asks"), [("delete_finished_tasks", True), ("add_task", False)])
def test_only_deleting_asks_first(name, asks):
    assert needs_confirmation(registry.get(name).spec) is asks


# --- Ownership: whatever a model asks for, a tool reaches only the data of its user.


@pytest.fixture
def bobs_task(bob) -> Task:
    return Task.objects.create(owner=bob, title="Bob's", category="home", done=True)


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("list_tasks", {"include_done": True}, []),
        ("summarize_tasks", {}, {}),
        ("delete_finished_tasks", {}, "Deleted 0 finished tasks."),
    ],
)
def test_the_tasks_of_another_user_are_out_of_reach(ada, bobs_task, name, arguments, result):
    assert registry.call(name, arguments, ctx=as_user(ada)) == result
    assert Task.objects.filter(pk=bobs_task.pk).exists()


def test_the_task_of_another_user_can_not_be_completed(ada, bobs_task):
    Task.objects.filter(pk=bobs_task.pk).update(done=False)
    with pytest.raises(ModelRetry, match="There is no task"):
        registry.call("complete_task", {"task_id": bobs_task.pk}, ctx=as_user(ada))
    bobs_task.refresh_from_db()
    assert not bobs_task.done


def test_a_new_task_belongs_to_who_asks(ada, bob):
    registry.call("add_task", {"title": "Buy milk"}, ctx=as_user(ada))
    assert [task.owner for task in Task.objects.all()] == [ada]


# --- State: what a conversation remembers besides its messages.


async def test_the_focus_is_kept_in_the_state():
    ctx = as_user(None)
    assert (
        await registry.acall("focus_on", {"category": "home"}, ctx=ctx) == "The focus is on home."
    )
    assert ctx.deps.state == TaskState(category="home")
    assert await registry.acall("focus_on", {}, ctx=ctx) == "The focus is on all tasks."
    assert ctx.deps.state == TaskState()


def test_the_focus_narrows_the_list(ada):
    Task.objects.create(owner=ada, title="Dishes", category="Home")
    Task.objects.create(owner=ada, title="Taxes", category="work")
    assert titles(registry.call("list_tasks", {}, ctx=as_user(ada, category="home"))) == ["Dishes"]
    assert titles(registry.call("list_tasks", {}, ctx=as_user(ada))) == ["Dishes", "Taxes"]


def test_a_new_task_falls_into_the_focus(ada):
    assert (
        registry.call("add_task", {"title": "Dishes"}, ctx=as_user(ada, category="home"))[
            "category"
        ]
        == "home"
    )
    assert registry.call("add_task", {"title": "Taxes"}, ctx=as_user(ada))["category"] == "general"
