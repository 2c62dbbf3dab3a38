"""What holds for every agent of this project, also for those that you add.

These tests find all tools, routes and agents of the project, not only those of the example. An
administrator without any rows calls each tool once, with made-up arguments. Add a tool to
NOT_CALLED if a test must not call it, for example because it sends letters.
"""

import json
import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import AsyncClient, Client

from agui import ToolBinding, needs_confirmation
from agui.contract import agent_routes, agents, routes
from agui.contrib.demo.testing import demo_chat, example_of
from agui.testing import Answer, Chat, ToolUse, say

NOT_CALLED: set[str] = set()

SECRET = "hunter2"

runs_agents = pytest.mark.django_db(transaction=True)
for_each_agent = pytest.mark.parametrize("url", list(agents()))


def is_called(tool: ToolBinding) -> bool:
    return tool.spec.name not in NOT_CALLED


def is_destructive(tool: ToolBinding) -> bool:
    return is_called(tool) and needs_confirmation(tool.spec)


def for_each_tool(
    condition: Callable[[ToolBinding], bool] = lambda tool: True,
) -> pytest.MarkDecorator:
    """Run a test once for each tool of each agent."""
    found = [
        (url, tool) for url, view in agents().items() for tool in view.registry if condition(tool)
    ]
    return pytest.mark.parametrize(
        ("url", "tool"), found, ids=[tool.spec.name for _, tool in found]
    )


@pytest.fixture
def admin(transactional_db: None) -> Any:
    """A user with every permission."""
    return get_user_model().objects.create_superuser("admin", password="lovelace-1815")


@pytest.fixture
def bob(transactional_db: None) -> Any:
    # An agent may be for staff only.
    return get_user_model().objects.create_user("bob", password="builder-1999", is_staff=True)


# --- The agents and their tools


@runs_agents
@for_each_agent
async def test_an_agent_answers(bob: Any, url: str):
    answer = await Chat(bob, say("Hello Bob."), url=url).send("Hello")
    assert (answer.text, answer.error) == ("Hello Bob.", None)


@runs_agents
@for_each_tool()
async def test_a_tool_tells_the_model_what_it_does_and_needs(
    admin: Any, url: str, tool: ToolBinding
):
    http = AsyncClient()
    await http.aforce_login(admin)
    response = await http.get(f"{url}capabilities/")
    [listed] = [
        item for item in response.json()["tools"]["items"] if item["name"] == tool.spec.name
    ]
    assert listed["description"]
    assert listed["parameters"]["type"] == "object"


@runs_agents
@for_each_tool(is_called)
async def test_a_tool_is_used_by_the_demo_model(admin: Any, url: str, tool: ToolBinding):
    """It calls the tool, or says what it still needs. Test the tool's result in your own tests."""
    answer = await demo_chat(admin, url).send(example_of(tool))
    assert answer.error is None
    assert tool.spec.name in answer.text
    assert use_of(tool, answer) or "I still need" in answer.text


@runs_agents
@for_each_tool(is_destructive)
async def test_a_destructive_tool_waits_for_an_approval_and_obeys_a_refusal(
    admin: Any, url: str, tool: ToolBinding
):
    chat = demo_chat(admin, url)
    use = use_of(tool, await chat.send(example_of(tool)))
    if use is None:
        pytest.skip("The demo model can't make up the arguments: test this tool with a script.")
    if use.outcome == "failed":
        pytest.skip("There is no row to ask about: test this tool with one.")
    assert use.outcome is None
    assert len(chat.answer.interrupts) == 1
    answer = await chat.deny()
    assert answer.error is None
    assert f"`{tool.spec.name}` did not run, because it was declined." in answer.text


def use_of(tool: ToolBinding, answer: Answer) -> ToolUse | None:
    return next((use for use in answer.calls if use.name == tool.spec.name), None)


# --- Who may ask for what


@runs_agents
async def test_nobody_gets_in_without_signing_in():
    """Delete this test if an agent is meant for everybody (`require_authenticated=False`)."""
    answers = {
        (route, method): (await AsyncClient().generic(method, path_of(route))).status_code
        for route, view in agent_routes().items()
        for method in view.methods
    }
    assert {
        asked: status for asked, status in answers.items() if status != HTTPStatus.UNAUTHORIZED
    } == {}


@runs_agents
@for_each_agent
async def test_a_thread_is_out_of_reach_for_others(admin: Any, bob: Any, url: str):
    chat = Chat(admin, say(f"Your word is {SECRET}."), url=url)
    await chat.send(f"My word is {SECRET}")
    before = await chat.http.get(f"{url}threads/{chat.thread}/")
    http = AsyncClient()
    await http.aforce_login(bob)
    for route, view in agent_routes().items():
        for method in view.methods:
            if route.startswith(url) and route != url:
                response = await http.generic(
                    method, path_of(route, chat.thread), "{}", "application/json"
                )
                assert SECRET not in await body_of(response), f"{method} {route}"
    assert SECRET in before.content.decode()
    assert (await chat.http.get(f"{url}threads/{chat.thread}/")).content == before.content


@runs_agents
@for_each_agent
async def test_a_thread_with_the_same_id_is_another_one_for_another_user(
    admin: Any, bob: Any, url: str
):
    chat = Chat(admin, say(f"Your word is {SECRET}."), url=url)
    await chat.send(f"My word is {SECRET}")
    other = Chat(bob, say("I don't know it."), url=url, thread=chat.thread)
    await other.send("What is my word?")
    assert SECRET not in str(other.model.requests[0].messages)


def path_of(route: str, thread: str = "t1") -> str:
    """Fill in a route's parameters: the thread's id, and ids that no other row has."""
    route = re.sub("<uuid:.*?>", "6f8a1f0e-0000-4000-8000-000000000000", route)
    return re.sub("<.*?>", thread, route)


async def body_of(response: Any) -> str:
    if not response.streaming:
        return response.content.decode()
    return b"".join([chunk async for chunk in response]).decode()


# --- The project


@pytest.mark.django_db(databases="__all__")
def test_the_settings_are_valid():
    """From Django 6.1, some checks ask each database what it can do."""
    call_command("check")


@pytest.mark.django_db
def test_every_change_of_a_model_has_its_migration():
    """If this fails, run `manage.py makemigrations`."""
    call_command("makemigrations", check=True, dry_run=True)


@pytest.mark.django_db
def test_every_page_finds_its_static_files(settings: Any, tmp_path: Any, admin_client: Client):
    """As in production, a missing file that a page or a script names is an error."""
    settings.STATIC_ROOT = tmp_path
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "agui.server.static_files.StaticFiles"},
    }
    call_command("collectstatic", interactive=False, verbosity=0)
    assert "agui/agui-chat.js" in json.loads((tmp_path / "staticfiles.json").read_text())["paths"]
    pages = [
        route
        for route in routes()
        if route not in agent_routes() and "<" not in route and "(" not in route
    ]
    broken = [
        route
        for route in pages
        if admin_client.get(route).status_code >= HTTPStatus.INTERNAL_SERVER_ERROR
    ]
    assert broken == []
