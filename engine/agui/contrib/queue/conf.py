from typing import Literal

from pydantic import Field

from agui.conf_sections import Section

Mode = Literal["queue", "steer"]


class QueueSettings(Section):
    """Messages that users send while the agent works."""

    modes: list[Mode] = Field(
        ["queue", "steer"],
        description="What users may choose: `queue` messages begin the next run, and the agent "
        "reads `steer` messages in the run that is under way. Without any, there is no queue.",
    )
    max_messages: int = Field(10, gt=0, le=100, description="Messages that wait in one thread.")
