"""A file becomes a text once, while it is read page by page."""

import logging
import threading
from collections import OrderedDict

from django.utils.asyncio import async_unsafe
from pydantic_ai.exceptions import ToolFailed

from agui import conf
from agui.blocking.executor import owner
from agui.blocking.fair_threads import FairThreads
from agui.contrib.office.child import Refused, convert
from agui.contrib.office.conf import OfficeSettings

logger = logging.getLogger("agui.runs")

# No user has all of the children.
CHILDREN = 4
# A text has at most convert.MAX_TEXT_CHARACTERS.
KEPT_TEXTS = 8

_children = FairThreads(CHILDREN, "agui-office")
_texts: OrderedDict[str, str] = OrderedDict()
_lock = threading.Lock()


@async_unsafe("A file is converted off the event loop: call read_file(...).text in a thread.")
def text_of(key: str, media_type: str, data: bytes) -> str:
    """Return the text of a file. Raises ToolFailed."""
    with _lock:
        text = _texts.pop(key, None)
    if text is None:
        text = _convert(key, media_type, data)
    with _lock:
        _texts[key] = text
        if len(_texts) > KEPT_TEXTS:
            _texts.popitem(last=False)
    return text


def _convert(key: str, media_type: str, data: bytes) -> str:
    settings = conf.part(OfficeSettings)
    child = _children.submit(owner.get(), lambda: convert(media_type, data, settings))
    try:
        return child.result()
    except Refused as error:
        logger.warning("Attachment %s (%s) was not converted: %s", key, media_type, error.reason)
        raise ToolFailed(str(error)) from None
