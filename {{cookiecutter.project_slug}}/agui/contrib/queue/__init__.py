"""Messages that users send while the agent works: it reads them in its run, or after it.

await send("t1", "The report is there.", user=user)
async for event in follow("t1", user=user): ...
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agui.contrib.queue.from_code import follow as follow
    from agui.contrib.queue.from_code import send as send


def __getattr__(name: str) -> Any:
    # Their modules import models, which don't exist yet when Django imports this package.
    if name in ("follow", "send"):
        return getattr(import_module("agui.contrib.queue.from_code"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
