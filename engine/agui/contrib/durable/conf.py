from typing import Literal

from pydantic import Field

from agui.conf_sections import Section


class DurableSettings(Section):
    """Whether workers execute runs."""

    environment = {"run_executor": "RUN_EXECUTOR"}

    run_executor: Literal["local", "dbos"] = Field(
        "local",
        description='With "local" the process that was asked executes a run, with "dbos" '
        "`manage.py agent_worker` does.",
    )

    @property
    def is_on(self) -> bool:
        return self.run_executor == "dbos"
