"""What a run has used: also what was broken off before its provider said how much, and what has no known price."""

from collections.abc import Collection, Iterable
from decimal import Decimal
from math import ceil
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.usage import RequestUsage, RunUsage

CHARS_PER_TOKEN = 4


def add_broken_off(
    usage: RunUsage, messages: Iterable[ModelMessage], before: Collection[str | None]
) -> None:
    """Add to a run's usage what was broken off before its provider said how much it was: about as
    much as it looks.

    Else whoever stops each answer at its last word pays for none. `before` are the runs whose
    messages are not its own.
    """
    read = 0
    for message in messages:
        size = _guess_tokens(message)
        if isinstance(message, ModelResponse) and _is_cut(message) and message.run_id not in before:
            known = message.usage
            # Some say at the beginning what they have read, and of the answer its first token.
            more_in = 0 if known.input_tokens else read
            more_out = size - known.output_tokens if size > 2 * known.output_tokens else 0
            if more_in or more_out:
                message.usage = RequestUsage(
                    input_tokens=known.input_tokens + more_in,
                    output_tokens=known.output_tokens + more_out,
                    cache_read_tokens=known.cache_read_tokens,
                    cache_write_tokens=known.cache_write_tokens,
                )
                price = _price(message)
                message.usage.cost = known.cost if price is None else price
                more_cost = None if price is None else price - (known.cost or 0)
                usage.incr(
                    RequestUsage(input_tokens=more_in, output_tokens=more_out, cost=more_cost)
                )
        read += size


def count_unpriced(usage: RunUsage, messages: Iterable[ModelMessage]) -> int:
    """Count the requests of a run whose price nobody knows. `messages` are the run's own.

    What no message accounts for is the work of an agent that a tool has asked.
    """
    known = [
        message.usage
        for message in messages
        if isinstance(message, ModelResponse) and is_counted(message)
    ]
    unpriced = sum(one.cost is None for one in known)
    more_tokens = usage.total_tokens - sum(one.total_tokens for one in known)
    more_cost = (usage.cost or 0) - sum(one.cost or 0 for one in known)
    if more_tokens > 0 and more_cost <= 0:
        unpriced += max(1, usage.requests - len(known))
    return unpriced


def is_counted(response: ModelResponse) -> bool:
    """Whether a provider was asked for it: a response that never began has used nothing."""
    return response.usage.has_values() or response.usage.unmeasured_requests > 0


def _is_cut(response: ModelResponse) -> bool:
    return response.state == "interrupted" and bool(response.parts)


def _guess_tokens(message: ModelMessage) -> int:
    texts: list[Any] = [getattr(message, "instructions", None)]
    for part in message.parts:
        content = part.args if isinstance(part, ToolCallPart) else getattr(part, "content", None)
        texts += content if isinstance(content, list) else [content]
    return ceil(
        sum(len(str(text)) for text in texts if isinstance(text, str | dict)) / CHARS_PER_TOKEN
    )


def _price(response: ModelResponse) -> Decimal | None:
    try:
        return response.cost().total_price if response.model_name else None
    except LookupError:
        return None
