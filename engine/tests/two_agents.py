"""Routes of two agents, as a project has them: each with its own tools, skills and users."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import path
from pydantic_ai.models.test import TestModel

from agui import AgentConfig, DjangoAGUIView, SkillRegistry, ToolRegistry, get_urls, tool
from agui.errors import Forbidden
from agui.http.auth import get_user
from tests import urls

registry = ToolRegistry()
skills = SkillRegistry()
skills.add("overdue", "Overdue", "Which invoices are overdue?")


@tool(registry, destructive=True)
def wipe(what: str = "all") -> str:
    """Wipe an invoice."""
    urls.effects.append(f"invoice {what}")
    return f"wiped the invoice {what}"


async def only_staff(request: HttpRequest) -> Any:
    user = await get_user(request)
    if user is not None and not user.is_staff:
        raise Forbidden("This assistant is for staff.")
    return user


config = AgentConfig(name="billing", model=TestModel())
view = DjangoAGUIView(registry, config, skills=skills, get_user=only_staff)
# The same one for everybody who is signed in.
open_view = DjangoAGUIView(registry, config, skills=skills)
urls.views += [view, open_view]

urlpatterns = [
    *get_urls(urls.view),
    *get_urls(view, "billing/", namespace="billing"),
    *get_urls(open_view, "shared/", namespace="shared"),
    path("admin/", admin.site.urls),
]
