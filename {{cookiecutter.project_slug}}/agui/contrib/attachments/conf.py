from pydantic import Field

from agui.conf_sections import Section


class AttachmentsSettings(Section):
    """What users may upload, and what the model reads of it."""

    max_bytes: int = Field(10 * 1024 * 1024, gt=0, description="Largest attachment; above it 413.")
    types: list[str] = Field(
        ["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf", "text/plain"],
        description="Media types that may be uploaded, found out from the content.",
    )
    max_total_bytes: int | None = Field(
        1024 * 1024 * 1024,
        gt=0,
        description="All attachments of one owner together; above it 413. None is no limit.",
    )
    read_page_bytes: int = Field(
        50_000,
        ge=1000,
        description="How much of a text attachment the model reads at once; it can read on.",
    )
    retention_hours: int | None = Field(
        24,
        gt=0,
        description="Age at which `manage.py prune_agent_data` deletes a file that no conversation "
        "names; None is never.",
    )
