"""The agent: who it is, what it may use, and the endpoint that serves it."""

from agui import AgentConfig, DjangoAGUIView
from assistant.skills import skills
from assistant.tools import registry

INSTRUCTIONS = """
You help the users of this site. Look things up with the tools before you speak of them, and act
with the tools when asked to. Answer briefly, in the user's language, as Markdown.
Call a tool directly, also one that deletes or changes things: the application asks the user before
such a tool runs, so don't ask for permission yourself.
If a tool fails or the user denies it, say so and don't try again by yourself.
"""

config = AgentConfig(
    instructions=INSTRUCTIONS,
    # model=...  By default, AGENT_MODEL in the settings.
)

# By default, the user is found by API token (`Authorization: Bearer ...`) or by the site's session.
view = DjangoAGUIView(registry, config, skills=skills)
