from pydantic import Field, field_validator

from agui.conf_sections import Section, by_import, imported

SAME = "same"
"""The name of the model that has answered."""


class TitlesSettings(Section):
    """How conversations get their titles after the first answer."""

    environment = {"model": "TITLE_MODEL"}

    model: str | None = Field(
        None,
        min_length=1,
        description='The model that makes titles, as in AGENT_MODEL, or "same" for the one that '
        "has answered; None makes none.",
    )
    maker: str = Field(
        "agui.contrib.titles.make.make_title",
        description="Dotted path of an async function that makes a title of a `FirstExchange`.",
    )
    timeout_seconds: float = Field(20.0, gt=0, description="Longest time that a title may take.")

    @field_validator("maker")
    @classmethod
    @by_import
    def _importable(cls, path: str) -> str:
        return imported(path)
