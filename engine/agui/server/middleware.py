"""Run all middleware of a request in one thread."""

from collections.abc import Callable
from typing import Any

from django.utils.decorators import sync_only_middleware


@sync_only_middleware
def in_one_thread(get_response: Callable[..., Any]) -> Callable[..., Any]:
    """Make Django run all middleware above this one in one thread. It does nothing else.

    Without it, Django moves a request to a thread and back twice for each middleware. It has to be
    the last entry of MIDDLEWARE.
    """
    return get_response
