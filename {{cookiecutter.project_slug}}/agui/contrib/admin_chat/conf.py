from pydantic import Field

from agui.conf_sections import Section


class AdminChatSettings(Section):
    """The chat beside the pages of the admin."""

    agent: str = Field(
        "",
        description="Which of several agents: the namespace of its routes. Empty is the only one.",
    )
