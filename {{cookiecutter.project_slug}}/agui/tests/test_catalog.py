"""The catalog: what people read about the tools."""

import pytest

from agui import ToolCategory, ToolRegistry, build_tool_catalog, tool


def test_catalog_has_what_a_card_shows():
    registry = ToolRegistry()

    @tool(registry, destructive=True, confirm="Sure?", summary="Tidy up", category=ToolCategory.UI_WRITE)
    def delete_finished_tasks() -> str:
        """Delete the finished tasks.

        More for people who read the code.
        """
        return ""

    assert build_tool_catalog(registry) == [
        {
            "name": "delete_finished_tasks",
            "summary": "Tidy up",
            "description": "Delete the finished tasks.",
            "category": "ui_write",
            "destructive": True,
            "confirm": "Sure?",
        }
    ]


def test_keys_that_say_nothing_are_absent():
    registry = ToolRegistry()

    @tool(registry)
    def delete_finished_tasks() -> str:
        """Delete the finished tasks."""
        return ""

    assert build_tool_catalog(registry) == [
        {
            "name": "delete_finished_tasks",
            "summary": "Delete finished tasks",
            "description": "Delete the finished tasks.",
        }
    ]


def test_summary_falls_back_to_the_prettified_name():
    registry = ToolRegistry()
    for name in ("get-URL", "__x__", "_"):
        registry.add(lambda: None, name=name, description="Do it.")
    assert [entry["summary"] for entry in build_tool_catalog(registry)] == ["Get URL", "X", "_"]


def test_catalog_keeps_the_order_and_takes_a_selection():
    registry = ToolRegistry()
    for name in ("b", "a", "c"):
        registry.add(lambda: None, name=name, description="Do it.")
    assert [entry["name"] for entry in build_tool_catalog(registry)] == ["b", "a", "c"]
    selection = [binding for binding in registry if binding.spec.name != "a"]
    assert [entry["name"] for entry in build_tool_catalog(selection)] == ["b", "c"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("route", ["tools/", "skills/", "capabilities/", "threads/"])
async def test_nobody_on_the_way_keeps_what_a_user_may(client, route):
    response = await client.http.get(f"/agent/{route}")
    assert (response.status_code, response["Cache-Control"]) == (200, "no-store")
