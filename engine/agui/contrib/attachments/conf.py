from pydantic import Field

from agui.conf_sections import Section


class FileDownloads(Section):
    """Limits of downloads, for models whose provider does not open addresses itself."""

    max_bytes: int = Field(5 * 1024 * 1024, gt=0, description="Largest file.")
    max_files: int = Field(5, gt=0, description="Most files in one run; the newest come first.")
    timeout_seconds: float = Field(10.0, gt=0, description="Longest download.")


class AttachmentsSettings(Section):
    """The files that users may upload, and how much of them the model reads."""

    max_bytes: int = Field(
        10 * 1024 * 1024, gt=0, description="Largest attachment; a larger one gets 413."
    )
    types: list[str] = Field(
        ["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf", "text/plain"],
        description="Media types that users may upload, detected from the content.",
    )
    max_total_bytes: int | None = Field(
        1024 * 1024 * 1024,
        gt=0,
        description="Size of all attachments of one owner; more get 413. None means no limit.",
    )
    max_images: int = Field(
        10,
        gt=0,
        description="Most images that models and tools may make in one run, each at most "
        "MAX_BYTES; others are not kept. The model sees as many again in later turns.",
    )
    read_page_bytes: int = Field(
        50_000,
        ge=1000,
        description="How much of a text attachment the model reads at once; it can ask for the "
        "next part.",
    )
    retention_hours: int | None = Field(
        24,
        gt=0,
        description="If no conversation names a file, `manage.py prune_agent_data` deletes it "
        "after this time; None means never.",
    )
    downloads: FileDownloads | None = Field(
        None, description="Lets the server download files that a client names; None forbids it."
    )
