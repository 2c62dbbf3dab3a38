"""The records that a worker keeps of a run: its order, and the run once the worker has begun."""

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, TypeAdapter
from pydantic_ai import DeferredToolResults

from agui.agents.endpoint import Endpoint
from agui.models import Run
from agui.protocol.types import RunAgentInput
from agui.runlog.memory import RunLog
from agui.stores.base import ThreadStore


class Order(BaseModel):
    """The part of a request that is neither in the thread nor in the run's row."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    path: str
    """The address at which the endpoint is mounted."""
    fingerprint: str
    run_input: RunAgentInput
    """Without its messages: the new ones are in the thread."""
    answers: DeferredToolResults | None
    headers: dict[str, str] = {}
    """The trace of the request, as headers."""
    language: str = ""
    """The language of the user; empty in an order of an older version."""


ORDER = TypeAdapter(Order)


@dataclass
class Ordered:
    """A run that this worker has begun to execute."""

    row: Run
    order: Order
    attempts: int
    """How many workers have begun to execute the run, this one included."""
    endpoint: Endpoint
    store: ThreadStore
    log: RunLog
