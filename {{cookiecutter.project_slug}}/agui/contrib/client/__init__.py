"""Agents of others: any AG-UI endpoint, as events or as a pydantic-ai model.

transport.py   AGUIClient: a run as events
               (events.py: from data to events; lifecycle.py: the order in which they may come; errors.py)
model.py       AGUIModel: an endpoint as a pydantic-ai model
               (outgoing.py: a history as messages; response.py: events as parts; interrupts.py: what is asked)
remote.py      remote agents as tools of this one
"""

from agui.contrib.client.errors import AGUIConnectionError, AGUIError, AGUIProtocolError, AGUIRunError, AGUIStatusError
from agui.contrib.client.interrupts import AGUIInterrupts
from agui.contrib.client.model import AGUIModel, AGUIModelSettings, remote_state
from agui.contrib.client.outgoing import interrupt_of
from agui.contrib.client.transport import AGUIClient

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
