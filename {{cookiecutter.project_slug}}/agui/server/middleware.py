"""How a request gets through the middleware: in one thread."""

from collections.abc import Callable
from typing import Any

from django.utils.decorators import sync_only_middleware


@sync_only_middleware
def in_one_thread(get_response: Callable[..., Any]) -> Callable[..., Any]:
    """Do nothing but let all middleware above run one after the other, in one thread.

    Left to itself, Django takes a request to a thread and back twice for each. Has to be the last
    in MIDDLEWARE.
    """
    return get_response
