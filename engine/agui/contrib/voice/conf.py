from pydantic import Field, field_validator

from agui.conf_sections import Section, by_import, imported


class VoiceSettings(Section):
    """The service that turns speech into text."""

    has_secrets = True
    environment = {
        "url": "TRANSCRIPTION_URL",
        "api_key": "TRANSCRIPTION_API_KEY",
        "model": "TRANSCRIPTION_MODEL",
    }

    url: str | None = Field(
        None,
        pattern=r"^https?://[^/]",
        description="A service with OpenAI's interface; None means no transcription.",
    )
    api_key: str = Field("", description="The key of the service.")
    model: str = Field(
        "whisper-1", min_length=1, description="The service's model that transcribes."
    )
    max_bytes: int = Field(
        10 * 1024 * 1024, gt=0, description="Largest recording; a larger one gets 413."
    )
    timeout_seconds: float = Field(60.0, gt=0, description="Longest silence of the service.")
    backend: str | None = Field(
        None,
        description="Dotted path of a class that transcribes, for other interfaces; None means "
        "OpenAI's interface, at URL.",
    )

    @property
    def is_on(self) -> bool:
        return bool(self.url or self.backend)

    @field_validator("backend")
    @classmethod
    @by_import
    def _importable(cls, path: str | None) -> str | None:
        return None if path is None else imported(path)
