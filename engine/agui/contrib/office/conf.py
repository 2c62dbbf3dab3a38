from pydantic import Field

from agui.conf_sections import Section
from agui.contrib.office.kinds import KINDS


class OfficeSettings(Section):
    """The files of offices that users may upload, and limits of their conversion to text."""

    types: list[str] = Field(
        list(KINDS), description="Media types that users may upload, beside `ATTACHMENTS`."
    )
    timeout_seconds: float = Field(20.0, gt=0, description="Longest conversion of a file.")
    max_memory_bytes: int = Field(
        512 * 1024 * 1024,
        ge=128 * 1024 * 1024,
        description="Most memory of a conversion, on Linux. At most four run at once.",
    )
