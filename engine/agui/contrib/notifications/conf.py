from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from agui.conf_sections import Section

# A name, or all names below one; without a port, that of https.
HOST = r"^(\*\.[a-z0-9-]+\.)?[a-z0-9-]+(\.[a-z0-9-]+)*(:[1-9][0-9]{0,4})?$"
SITE = r"^https?://[^/\s?#@]+(/[^/\s?#]+)*$"
PATH = r"^/[^\s#]*$"

Host = Annotated[str, StringConstraints(pattern=HOST)]
Path = Annotated[str, StringConstraints(pattern=PATH)]


class NotificationsSettings(Section):
    """How users are told that a run has ended while nobody read it."""

    environment = {"site_url": "SITE_URL", "mail": "NOTIFY_BY_MAIL"}

    mail: Literal["off", "opt_in", "opt_out"] = Field(
        "off",
        description="Whether users are told by mail: only those who turn it on (`opt_in`), or all "
        "but those who turn it off (`opt_out`).",
    )
    webhook_hosts: list[Host] = Field(
        [],
        description="The hosts to which users may send webhooks, such as `hooks.example.com`, "
        "`*.example.com` for all names below it, or `hooks.example.com:8443`; [] allows none.",
    )
    site_url: str | None = Field(
        None,
        pattern=SITE,
        description="The address of the site, such as `https://assistant.example.com`, for links "
        "in messages.",
    )
    pages: dict[str, Path] = Field(
        {"agui": "/"},
        description="The path of the page of each agent, by its namespace. The link to a "
        "conversation is the path with `?thread=`.",
    )
    titles: bool = Field(
        True,
        description="Whether mails name the conversation by its title, which has words of the "
        "user unless somebody has renamed it.",
    )
    wait_seconds: float = Field(
        5.0, ge=0, le=86_400, description="How long a user may take to come back and read the end."
    )
    timeout_seconds: float = Field(
        10.0, gt=0, le=60, description="Longest request to the receiver of a webhook."
    )
    retention_days: int = Field(
        30,
        gt=0,
        description="The age in days at which `manage.py prune_agent_data` deletes what is known "
        "of a notification.",
    )

    @property
    def is_on(self) -> bool:
        return self.mail != "off" or bool(self.webhook_hosts)
