from pydantic import Field

from agui.conf_sections import Section
from agui.namespaces import FIRST_AGENT


class AdminChatSettings(Section):
    """The chat beside the pages of the admin."""

    agent: str = Field(
        FIRST_AGENT, description="The agent in this chat: the namespace of its routes."
    )
