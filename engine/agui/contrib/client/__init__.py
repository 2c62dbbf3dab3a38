"""Remote agents: any AG-UI endpoint, as events or as a pydantic-ai model.

transport.py      AGUIClient: a run as events
reading.py        the state of reading one run
events.py         from the stream's data to events
lifecycle.py      the order in which events may come
errors.py         the errors of both
model.py          AGUIModel: an endpoint as a pydantic-ai model
outgoing.py       a history as messages
request_state.py  the state of a request
response.py       events as parts of a response
interrupts.py     interrupts as deferred tools
remote.py         remote agents as tools of this one
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agui.contrib.client.errors import (
        AGUIConnectionError,
        AGUIError,
        AGUIProtocolError,
        AGUIRunError,
        AGUIStatusError,
    )
    from agui.contrib.client.interrupts import AGUIInterrupts
    from agui.contrib.client.model import AGUIModel, AGUIModelSettings, remote_state
    from agui.contrib.client.outgoing import interrupt_of
    from agui.contrib.client.transport import AGUIClient

# These modules are imported on first use, because Django imports this package at its start, and few
# commands need pydantic-ai.
_MODULES = {
    "AGUIClient": "transport",
    "AGUIConnectionError": "errors",
    "AGUIError": "errors",
    "AGUIInterrupts": "interrupts",
    "AGUIModel": "model",
    "AGUIModelSettings": "model",
    "AGUIProtocolError": "errors",
    "AGUIRunError": "errors",
    "AGUIStatusError": "errors",
    "interrupt_of": "outgoing",
    "remote_state": "model",
}

__all__ = [
    "AGUIClient",
    "AGUIConnectionError",
    "AGUIError",
    "AGUIInterrupts",
    "AGUIModel",
    "AGUIModelSettings",
    "AGUIProtocolError",
    "AGUIRunError",
    "AGUIStatusError",
    "interrupt_of",
    "remote_state",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
