"""What the conformance suite of MCP looks for, by name: tools, prompts and resources."""

import asyncio
from collections.abc import Callable
from typing import Any

from agui import AgentConfig, AgentDeps, DjangoAGUIView, Question, SkillRegistry, ToolRegistry, get_urls, step, tool
from agui.contrib.mcp.resources import resource
from agui.contrib.mcp.views import McpView
from agui.server.health import healthz
from django.contrib.auth import get_user_model
from django.http import HttpRequest
from django.urls import path, re_path
from pydantic import BaseModel
from pydantic_ai import BinaryContent, RunContext
from pydantic_ai.models.test import TestModel

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d4944415478da63fcffff3f0300050001"
    "ff5c1b4f2d0000000049454e44ae426082"
)
WAV = b"RIFF$\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00@\x1f\x00\x00\x80>\x00\x00\x02\x00\x10\x00data\0\0\0\0"

registry = ToolRegistry()
skills = SkillRegistry()
skills.add("test_simple_prompt", "Simple", "This is a simple prompt for testing.")
skills.add("test_prompt_with_arguments", "Arguments", "Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")


def file(content: bytes, media_type: str, uri: str) -> BinaryContent:
    return BinaryContent(content, media_type=media_type, identifier=uri)


def returning(content: Any) -> Callable[[], Any]:
    def function() -> Any:
        return content

    return function


def answers(name: str, content: Any) -> None:
    """Add a tool that answers so."""
    registry.add(returning(content), name=name, description="Answer with what the suite looks for.")


answers("test_simple_text", "This is a simple text response for testing.")
answers("test_image_content", BinaryContent(PNG, media_type="image/png"))
answers("test_audio_content", BinaryContent(WAV, media_type="audio/wav"))
answers(
    "test_embedded_resource",
    file(b"This is an embedded resource content.", "text/plain", "test://embedded-resource"),
)
answers(
    "test_multiple_content_types",
    [
        "Multiple content types test:",
        BinaryContent(PNG, media_type="image/png"),
        file(b'{"test":"data","value":123}', "application/json", "test://mixed-content-resource"),
    ],
)


@tool(registry)
def test_error_handling() -> str:
    """Fail."""
    raise ValueError("This tool intentionally returns an error for testing")


@tool(registry)
async def test_tool_with_progress(ctx: RunContext[AgentDeps]) -> str:
    """Work in two steps."""
    steps = ["Begin", "End"]
    for name in steps:
        async with step(ctx, name, of=steps):
            pass
    return "done"


@tool(registry)
def greet(name: str) -> str:
    """Answer at once."""
    return f"Hello, {name}!"


@tool(registry)
async def slow_compute(seconds: float, label: str = "") -> str:
    """Answer later."""
    await asyncio.sleep(seconds)
    return f"computed {label}"


@tool(registry)
async def failing_job() -> str:
    """Fail later."""
    await asyncio.sleep(1)
    raise ValueError("This job always fails")


class Confirmation(BaseModel):
    confirm: bool


@tool(registry)
async def confirm_delete(filename: str) -> str:
    """Ask later."""
    await asyncio.sleep(1)
    raise Question(f"Delete {filename}?", answer=Confirmation)


for name, mime_type, content in (
    ("static-text", "text/plain", "This is the content of the static text resource."),
    ("static-binary", "image/png", PNG),
    ("watched-resource", "text/plain", "Watched."),
):
    about = {"name": name, "description": "What the suite reads.", "mime_type": mime_type}
    resource(registry, f"test://{name}", **about)(returning(content))


@resource(registry, "test://template/{id}/data", mime_type="application/json")
def template(id: str) -> dict[str, Any]:
    """The data of an id."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


def first_user(request: HttpRequest) -> Any:
    """The suite sends no token."""
    return get_user_model().objects.order_by("pk").first()


view = DjangoAGUIView(registry, AgentConfig(model=TestModel()), skills=skills, get_user=first_user)


class RawView(McpView):
    server_path = "conformance_raw.RawServer"


urlpatterns = [
    *get_urls(view),
    re_path(r"^mcp/?$", RawView.mounted(view)),
    path("healthz", healthz),
]
