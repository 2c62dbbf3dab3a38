"""The record of what answers at one address: an agent with its tools, configuration and skills."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.models import Model

from agui.agents.build import build_agent
from agui.agents.config import AgentConfig
from agui.agents.discovery import discover
from agui.agents.llm import choose_model, resolve_models
from agui.agents.skills import SkillRegistry
from agui.deps import AgentDeps
from agui.tools.registry import ToolRegistry


@dataclass(frozen=True, eq=False)
class Endpoint:
    """An agent, for its view, its runs and its tools over MCP. All requests share it."""

    registry: ToolRegistry
    config: AgentConfig
    skills: SkillRegistry

    @cached_property
    def agent(self) -> Agent[AgentDeps, Any]:
        """The agent itself, built on first use.

        Raises an error if a tool, a setting or the name of a model is wrong.
        """
        discover()
        _ = self.models  # Refuses wrong names of models as early as other mistakes.
        return build_agent(self.registry, self.config)

    @cached_property
    def models(self) -> dict[str, Model]:
        """The models that a client may choose from, by name."""
        return resolve_models(self.config.models)

    def chosen_model(self, forwarded_props: Any) -> Model | None:
        """Find the model that a client asks for; None is the agent's own. Raises Unprocessable."""
        return choose_model(self.models, forwarded_props)

    def model_for(self, forwarded_props: Any) -> Any:
        """Find the model that a run begins with: the client's choice or the agent's own.

        Raises Unprocessable. An agent of AGUI["AGENT_FACTORY"] may have the name of a model.
        """
        return self.chosen_model(forwarded_props) or self.agent.model
