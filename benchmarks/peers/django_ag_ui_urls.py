"""The generated project's tools, instructions, model and users, served by django-ag-ui with its own store."""

from agui.http.tokens import hash_token
from agui.models import ApiToken
from agui.server.health import healthz
from assistant.agent import INSTRUCTIONS
from assistant.tools import registry as tools
from django.urls import path
from django_ag_ui import AGUIServer
from django_spec_agents import ToolRegistry, ToolSpec
from django_spec_agents.contrib.store.default_conversation_store import DefaultConversationStore
from scripted import model
from tools import more_tools


async def get_user(request):
    """Find a token's user by one query, as a project's own hook would."""
    digest = hash_token(request.headers["Authorization"].removeprefix("Bearer "))
    token = await ApiToken.objects.select_related("user").aget(digest=digest)
    return token.user


registry = ToolRegistry()
for binding in tools:
    registry.register(ToolSpec(binding.spec.name, binding.spec.fn, binding.spec.description))
for function in more_tools:
    registry.register(ToolSpec(function.__name__, function, function.__doc__))

policy = {"model": model, "instructions": INSTRUCTIONS, "get_user": get_user, "csrf_exempt": True}
server = AGUIServer(registry, conversation_store=DefaultConversationStore(), **policy)
without_store = AGUIServer(registry, **policy)

urlpatterns = [path("agent/", server.urls), path("without-store/", without_store.urls), path("healthz", healthz)]
