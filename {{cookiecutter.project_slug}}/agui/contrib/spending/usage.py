"""What a run has used, by the models that answered it; also what was broken off before its provider said how much."""

from collections.abc import Collection, Iterable
from decimal import Decimal
from math import ceil
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.usage import RequestUsage, RunUsage

from agui.contrib.spending.ledger import Spent
from agui.stores.summary import clean

CHARS_PER_TOKEN = 4


def spent_by_model(usage: RunUsage, messages: Iterable[ModelMessage], model: str) -> dict[str, Spent]:
    """Split what a run has used by the models that gave these responses of it.

    What no response accounts for, as the work of an agent that a tool has asked, is put down to `model`.
    """
    found: dict[str, Spent] = {}
    for message in messages:
        if isinstance(message, ModelResponse) and (message.usage.has_values() or message.usage.unmeasured_requests):
            name = clean(message.model_name or model)[:255]
            found[name] = found.get(name, Spent()) + Spent.of(message.usage)
    rest = Spent.of(usage) - sum(found.values(), Spent())
    if rest.input_tokens or rest.output_tokens or rest.cost:
        if rest.cost is None:
            rest = rest._replace(unpriced=max(1, rest.requests))
        found[model] = found.get(model, Spent()) + rest
    return found


def add_broken_off(usage: RunUsage, messages: Iterable[ModelMessage], before: Collection[str | None]) -> None:
    """Add to a run's usage what was broken off before its provider said how much it was: about as much as it looks.

    Else whoever stops each answer at its last word pays for none. `before` are the runs whose messages are not its own.
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
                usage.incr(RequestUsage(input_tokens=more_in, output_tokens=more_out, cost=more_cost))
        read += size


def _is_cut(response: ModelResponse) -> bool:
    return response.state == "interrupted" and bool(response.parts)


def _guess_tokens(message: ModelMessage) -> int:
    texts: list[Any] = [getattr(message, "instructions", None)]
    for part in message.parts:
        content = part.args if isinstance(part, ToolCallPart) else getattr(part, "content", None)
        texts += content if isinstance(content, list) else [content]
    return ceil(sum(len(str(text)) for text in texts if isinstance(text, str | dict)) / CHARS_PER_TOKEN)


def _price(response: ModelResponse) -> Decimal | None:
    try:
        return response.cost().total_price if response.model_name else None
    except LookupError:
        return None
