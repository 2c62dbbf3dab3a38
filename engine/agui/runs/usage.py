"""The usage of a run, with estimates for answers that were broken off, and unknown prices."""

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
    """Estimate the usage of answers that were broken off before the provider reported it.

    Without this, users who stop each answer at its last word would pay for none. `before` are the
    ids of earlier runs, whose messages don't count.
    """
    read_tokens = 0
    for message in messages:
        tokens = _guess_tokens(message)
        if isinstance(message, ModelResponse) and _is_cut(message) and message.run_id not in before:
            _add_estimate(usage, message, read_tokens, tokens)
        read_tokens += tokens


def _add_estimate(
    usage: RunUsage, response: ModelResponse, read_tokens: int, written_tokens: int
) -> None:
    reported = response.usage
    # Some providers report the input, and the first token of the output, when an answer begins.
    more_input = 0 if reported.input_tokens else read_tokens
    more_output = 0
    if written_tokens > 2 * reported.output_tokens:
        more_output = written_tokens - reported.output_tokens
    if not more_input and not more_output:
        return
    response.usage = RequestUsage(
        input_tokens=reported.input_tokens + more_input,
        output_tokens=reported.output_tokens + more_output,
        cache_read_tokens=reported.cache_read_tokens,
        cache_write_tokens=reported.cache_write_tokens,
    )
    price = _price(response)
    more_cost = None
    response.usage.cost = reported.cost
    if price is not None:
        response.usage.cost = price
        more_cost = price - (reported.cost or 0)
    usage.incr(RequestUsage(input_tokens=more_input, output_tokens=more_output, cost=more_cost))


def count_unpriced(usage: RunUsage, messages: Iterable[ModelMessage]) -> int:
    """Count the requests of a run whose price nobody knows. `messages` are the run's own.

    Usage that belongs to no message comes from agents that tools have called.
    """
    requests = unpriced = 0
    other_tokens, other_cost = usage.total_tokens, usage.cost or Decimal()
    for message in messages:
        if isinstance(message, ModelResponse) and is_counted(message):
            requests += 1
            unpriced += message.usage.cost is None
            other_tokens -= message.usage.total_tokens
            other_cost -= message.usage.cost or 0
    if other_tokens > 0 and other_cost <= 0:
        unpriced += max(1, usage.requests - requests)
    return unpriced


def is_counted(response: ModelResponse) -> bool:
    """Whether a provider was asked. A response that never began has used nothing."""
    return response.usage.has_values() or response.usage.unmeasured_requests > 0


def _is_cut(response: ModelResponse) -> bool:
    return response.state == "interrupted" and bool(response.parts)


def _guess_tokens(message: ModelMessage) -> int:
    contents: list[Any] = [getattr(message, "instructions", None)]
    for part in message.parts:
        content = part.args if isinstance(part, ToolCallPart) else getattr(part, "content", None)
        contents += content if isinstance(content, list) else [content]
    characters = 0
    for content in contents:
        if isinstance(content, str | dict):
            characters += len(str(content))
    return ceil(characters / CHARS_PER_TOKEN)


def _price(response: ModelResponse) -> Decimal | None:
    if not response.model_name:
        return None
    try:
        return response.cost().total_price
    except LookupError:
        return None
