"""What conf.py is made of: how strict a section is, and those that say much."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django.utils.module_loading import import_string
from pydantic import BaseModel, ConfigDict, Field, ValidationInfo

WITHOUT_IMPORTS = "without imports"


class Section(BaseModel):
    """A dictionary in AGUI, or AGUI itself."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, alias_generator=str.upper)

    environment: ClassVar[Mapping[str, str]] = {}
    """Variables of the environment that stand for fields which the dictionary does not have: by field, the variable."""
    has_secrets: ClassVar[bool] = False
    """Whether an error may not quote a wrong value."""


def imported(path: str) -> str:
    try:
        import_string(path)
    except ImportError as error:
        raise ValueError(
            f"{path!r} can't be imported ({error}): name what exists, by its dotted path"
        ) from None
    return path


def by_import(check: Callable[[Any, Any], Any]) -> Callable[[Any, Any, ValidationInfo], Any]:
    """Mark a validator that imports what a setting names: it waits until an agent is needed (agents/discovery.py)."""

    def checked(cls: Any, value: Any, info: ValidationInfo) -> Any:
        return value if info.context == WITHOUT_IMPORTS else check(cls, value)

    return checked


class Retention(Section):
    """What `manage.py prune_agent_data` deletes; None is never."""

    conversations_days: int | None = Field(
        None, gt=0, description="Age of a conversation's last message."
    )
    runs_days: int | None = Field(None, gt=0, description="Age of the record of a run.")
    audit_days: int | None = Field(None, gt=0, description="Age of the record of a tool call.")


class FileDownloads(Section):
    """What the server downloads for a model whose provider does not open addresses itself."""

    max_bytes: int = Field(5 * 1024 * 1024, gt=0, description="Largest file.")
    max_files: int = Field(5, gt=0, description="Most files in one run; the newest come first.")
    timeout_seconds: float = Field(10.0, gt=0, description="Longest download.")
