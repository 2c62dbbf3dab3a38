"""Tests of what holds for every agent of a project, whatever its owner changes and adds.

    from agui.contract_tests import *  # in a module of tests: assistant/tests/test_contract.py

    NOT_CALLED = {"send_letter"}  # tools that no test may call
    PUBLIC = {"/agent/"}  # addresses of agents with `require_authenticated=False`

They find all tools, routes and agents of the project. An administrator without any rows calls each
tool once, with made-up arguments. A test of the same name in the module replaces one of these.
"""

# ruff: noqa: S101, S105, S106

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

SECRET = "hunter2"

runs_agents = pytest.mark.django_db(transaction=True)
for_each_agent = pytest.mark.parametrize("url", list(agents()))


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


@pytest.fixture
def called(request: pytest.FixtureRequest, tool: ToolBinding) -> ToolBinding:
    """A tool that may be called."""
    if tool.spec.name in getattr(request.module, "NOT_CALLED", ()):
        pytest.skip("NOT_CALLED has this tool.")
    return tool


# --- The agents and their tools


@runs_agents
@for_each_agent
async def test_an_agent_answers(bob: Any, url: str) -> None:
    answer = await Chat(bob, say("Hello Bob."), url=url).send("Hello")
    assert (answer.text, answer.error) == ("Hello Bob.", None)


@runs_agents
@for_each_tool()
async def test_a_tool_tells_the_model_what_it_does_and_needs(
    admin: Any, url: str, tool: ToolBinding
) -> None:
    http = AsyncClient()
    await http.aforce_login(admin)
    response = await http.get(f"{url}capabilities/")
    [listed] = [
        item for item in response.json()["tools"]["items"] if item["name"] == tool.spec.name
    ]
    assert listed["description"]
    assert listed["parameters"]["type"] == "object"


@runs_agents
@for_each_tool()
async def test_a_tool_is_used_by_the_demo_model(admin: Any, url: str, called: ToolBinding) -> None:
    """It calls the tool, or says what it still needs. Test the tool's result in your own tests."""
    answer = await demo_chat(admin, url).send(example_of(called))
    assert answer.error is None
    assert called.spec.name in answer.text
    assert use_of(called, answer) or "I still need" in answer.text


@runs_agents
@for_each_tool(lambda tool: needs_confirmation(tool.spec))
async def test_a_destructive_tool_waits_for_an_approval_and_obeys_a_refusal(
    admin: Any, url: str, called: ToolBinding
) -> None:
    chat = demo_chat(admin, url)
    use = use_of(called, await chat.send(example_of(called)))
    if use is None:
        pytest.skip("The demo model can't make up the arguments: test this tool with a script.")
    if use.outcome == "failed":
        pytest.skip("There is no row to ask about: test this tool with one.")
    assert use.outcome is None
    assert len(chat.answer.interrupts) == 1
    answer = await chat.deny()
    assert answer.error is None
    assert f"`{called.spec.name}` did not run, because it was declined." in answer.text


def use_of(tool: ToolBinding, answer: Answer) -> ToolUse | None:
    return next((use for use in answer.calls if use.name == tool.spec.name), None)


# --- Who may ask for what


@runs_agents
async def test_nobody_gets_in_without_signing_in(request: pytest.FixtureRequest) -> None:
    """An agent that is meant for everybody has to be in PUBLIC."""
    public = tuple(getattr(request.module, "PUBLIC", ()))
    let_in = {}
    for route, view in agent_routes().items():
        if view.is_public or f"{route}/".startswith(public):
            continue
        for method in view.methods:
            response = await AsyncClient().generic(method, path_of(route))
            if response.status_code != HTTPStatus.UNAUTHORIZED:
                let_in[route, method] = response.status_code
    assert let_in == {}


@runs_agents
@for_each_agent
async def test_a_thread_is_out_of_reach_for_others(admin: Any, bob: Any, url: str) -> None:
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
) -> None:
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
def test_the_settings_are_valid() -> None:
    """From Django 6.1, some checks ask each database what it can do."""
    call_command("check")


@pytest.mark.django_db
def test_every_change_of_a_model_has_its_migration() -> None:
    """If this fails, run `manage.py makemigrations`."""
    call_command("makemigrations", check=True, dry_run=True)


@pytest.mark.django_db
def test_every_page_finds_its_static_files(
    settings: Any, tmp_path: Any, admin_client: Client
) -> None:
    """As in production, a missing file that a page or a script names is an error."""
    settings.STATIC_ROOT = tmp_path
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "agui.contrib.bundle.storage.StaticFiles"},
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
