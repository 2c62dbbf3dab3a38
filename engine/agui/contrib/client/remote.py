"""Remote agents as tools, to which the agent may leave tasks.

AGUI["CLIENT"]["REMOTE_AGENTS"] lists them. Clients get SUBAGENT_STARTED and SUBAGENT_FINISHED or
SUBAGENT_ERROR beside the tool call, and the tokens count for the run.
"""

import logging
from collections.abc import Mapping
from uuid import uuid4

from ag_ui.core import (
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentFinishedSuccessOutcome,
    SubagentStartedEvent,
)
from pydantic_ai import Agent, FunctionToolset, RunContext, Tool
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.usage import UsageLimits

from agui.contrib.client.conf import RemoteAgent
from agui.contrib.client.errors import AGUIError
from agui.contrib.client.model import AGUIModel
from agui.deps import AgentDeps
from agui.events.progress import ProtocolEvent

logger = logging.getLogger("agui.client")

# The run's own limits are checked before its next request, and count the remote agent's usage.
NO_LIMITS = UsageLimits(request_limit=None)
FAILED = "The agent {!r} could not do it."


def remote_toolset(agents: Mapping[str, RemoteAgent]) -> FunctionToolset[AgentDeps]:
    """Build a tool for each remote agent: it takes a task in words, and returns the answer."""
    tools = [_tool(name, remote) for name, remote in agents.items()]
    return FunctionToolset(tools, id="remote-agents")


def _tool(name: str, remote: RemoteAgent) -> Tool[AgentDeps]:
    timeout_seconds = remote.timeout_seconds
    agent = Agent(AGUIModel(remote.url, headers=remote.headers, timeout_seconds=timeout_seconds))

    async def ask(ctx: RunContext[AgentDeps], task: str) -> str:
        run_id = str(uuid4())
        started = SubagentStartedEvent(
            subagent_run_id=run_id,
            name=name,
            description=remote.description,
            parent_tool_call_id=ctx.tool_call_id,
        )
        await ctx.emit(ProtocolEvent(event=started))
        try:
            result = await agent.run(task, usage=ctx.usage, usage_limits=NO_LIMITS)
        except AGUIError as error:
            logger.warning("Remote agent %r failed: %s", name, error)
            failed = SubagentErrorEvent(
                subagent_run_id=run_id, message=FAILED.format(name), code=error.code or None
            )
            await ctx.emit(ProtocolEvent(event=failed))
            raise ToolFailed(FAILED.format(name)) from error
        finished = SubagentFinishedEvent(
            subagent_run_id=run_id, outcome=SubagentFinishedSuccessOutcome()
        )
        await ctx.emit(ProtocolEvent(event=finished))
        return result.output

    description = f"{remote.description} It knows nothing but the task: say all that it needs."
    return Tool(ask, name=name, description=description)
