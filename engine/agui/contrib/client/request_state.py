"""The state of a request: known before its answer begins, and completed while it arrives."""

from dataclasses import dataclass
from typing import Any

from pydantic_ai import messages as m
from pydantic_ai.messages import BaseToolCallPart

from agui.contrib.client.outgoing import interrupt_of, is_result, parts_of


@dataclass
class RequestState:
    """The state of one request, which its answer completes."""

    thread_id: str
    run_id: str
    own_tools: set[str]
    """The names of the tools that are executed here."""
    answered: set[str]
    """The ids of the calls that were answered here."""
    calls: dict[str, str]
    """The names of all earlier calls, by id."""
    state: Any
    may_ask: bool
    """Whether the agent can put an interrupt to a user."""


def earlier_calls(history: list[m.ModelMessage]) -> dict[str, str]:
    names = {}
    for part in parts_of(history):
        if isinstance(part, BaseToolCallPart):
            names[part.tool_call_id] = part.tool_name
    return names


def answered_calls(messages: list[m.ModelMessage]) -> set[str]:
    """Return the ids of the calls that were answered here, without answers to interrupts."""
    answered: set[str] = set()
    asked: set[str] = set()
    for part in parts_of(messages):
        if is_result(part):
            answered.add(part.tool_call_id)
        elif interrupt_of(part):
            asked.add(part.tool_call_id)
    return answered - asked
