"""The budget of a user, asked again before each further request of a run to the model."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import ModelRequestContext

from agui.blocking.executor import in_database
from agui.contrib.spending.budgets import belief, find_used_up, may_exist
from agui.deps import AgentDeps
from agui.errors import RunFailed


@dataclass
class KeepBudget(AbstractCapability[AgentDeps]):
    """Asks before each request of a run but the first whether its user may still spend."""

    note_spending: Callable[[], None]

    async def before_model_request(
        self, ctx: RunContext[AgentDeps], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        if ctx.usage.requests and (used_up := await in_database(self._find_used_up, ctx.deps)):
            period, resets_at = used_up
            raise RunFailed("budget_exceeded", period=period, resets_at=resets_at.isoformat())
        return request_context

    def _find_used_up(self, deps: AgentDeps) -> tuple[str, datetime] | None:
        if not belief.is_fresh:
            belief.renew()
        if not may_exist():
            return None
        self.note_spending()
        return find_used_up(deps.user, deps.scope)
