"""Check the user's budget again before each further request of a run to the model."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.db import router, transaction
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import ModelRequestContext

from agui.blocking.executor import in_database
from agui.contrib.spending.budgets import belief, find_used_up, may_exist
from agui.contrib.spending.ledger import record_so_far
from agui.contrib.spending.models import Spending
from agui.contrib.spending.usage import spent_by_model
from agui.deps import AgentDeps
from agui.errors import RunFailed

if TYPE_CHECKING:
    from agui.runs.record import ActiveRun


@dataclass
class KeepBudget(AbstractCapability[AgentDeps]):
    """Stops a run before its second or a later request if its user's budget is used up."""

    run: "ActiveRun"

    async def before_model_request(
        self, ctx: RunContext[AgentDeps], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        # The budget was checked before the run, so the first request needs no check.
        if not ctx.usage.requests:
            return request_context
        used_up = await in_database(self._find_used_up, ctx.deps)
        if used_up:
            period, resets_at = used_up
            raise RunFailed("budget_exceeded", period=period, resets_at=resets_at.isoformat())
        return request_context

    def _find_used_up(self, deps: AgentDeps) -> tuple[str, datetime] | None:
        if not belief.is_fresh:
            belief.renew()
        if not may_exist():
            return None
        self._record()
        return find_used_up(deps.user, deps.scope)

    def _record(self) -> None:
        """Record what the run has used so far, without waiting for its end."""
        run = self.run
        spent = spent_by_model(run.usage, run.messages(), run.model)
        with transaction.atomic(using=router.db_for_write(Spending)):
            if run.hold():
                record_so_far(run.log.key, run.log.scope, run.setup.deps.user.pk, spent)
