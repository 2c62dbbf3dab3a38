"""The agent: who it is, what it may use, and the endpoint that serves it."""

from agui import AgentConfig, DjangoAGUIView
from assistant.auth import get_user
from assistant.skills import skills
from assistant.tools import TaskState, registry

INSTRUCTIONS = """
You help the user to keep a list of tasks. Look tasks up with the tools before you speak of them,
and act with the tools when asked to. Answer briefly, in the user's language, as Markdown.
Call a tool directly, also one that deletes or changes things: the application asks the user before
such a tool runs, so don't ask for permission yourself.
If a tool fails or the user denies it, say so and don't try again by yourself.
"""

config = AgentConfig(
    instructions=INSTRUCTIONS,
    state_type=TaskState,
    # model=...  By default, AGENT_MODEL in the environment.
    # models={"quick": "openai:..."}  A client may choose one of these with forwardedProps.model.
    # capabilities=[Thinking("high"), FollowUps()]  agent.md of the manual lists them all.
    # limits=UsageLimits(...)  By default, AGUI["LIMITS"] in the settings.
)

view = DjangoAGUIView(registry, config, skills=skills, get_user=get_user)
