"""What the assistant can do. Edit this file first.

A tool is a function. Its type hints say what the model has to send, and its docstring tells the
model what the tool is for. The model never sees `ctx`: `ctx.deps.user` is the user who asks. A tool
acts as that user, so every query here starts from the user.
"""

from typing import Any

from django.utils import timezone
from pydantic_ai import RunContext

from agui import AgentDeps, ToolRegistry, tool
from agui.models import ApiToken

registry = ToolRegistry()


@tool(registry)
def who_am_i(ctx: RunContext[AgentDeps]) -> dict[str, Any]:
    """Tell who is signed in, and how many API tokens they have."""
    user = ctx.deps.user
    tokens = ApiToken.objects.filter(user=user, revoked_at=None)
    return {"user": user.get_username(), "api_tokens": tokens.count()}


# Before a destructive tool, the run pauses and asks `confirm`. The tool runs if the user agrees.
@tool(registry, destructive=True, confirm="Revoke all your API tokens? They stop working at once.")
def revoke_my_tokens(ctx: RunContext[AgentDeps]) -> str:
    """Revoke all API tokens of the user."""
    tokens = ApiToken.objects.filter(user=ctx.deps.user, revoked_at=None)
    return f"Revoked {tokens.update(revoked_at=timezone.now())} tokens."
