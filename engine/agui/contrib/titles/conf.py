from pydantic import Field, field_validator

from agui.conf_sections import Section, by_import, imported


class TitlesSettings(Section):
    """How conversations get their titles after the first answer."""

    environment = {"enabled": "MAKE_TITLES"}

    enabled: bool = Field(True, description="Whether titles are made.")
    maker: str = Field(
        "agui.contrib.titles.make.make_title",
        description="Dotted path of an async function that makes a title of a `FirstExchange`.",
    )
    model: str | None = Field(
        None,
        min_length=1,
        description="The model that makes titles, as in AGENT_MODEL; None is the one that has "
        "answered, unless that is the demo model or one of a test.",
    )
    timeout_seconds: float = Field(20.0, gt=0, description="Longest time that a title may take.")

    @field_validator("maker")
    @classmethod
    @by_import
    def _importable(cls, path: str) -> str:
        return imported(path)
