"""The usage of a run: by the models that answered it, and as its client is told."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.usage import RunUsage

from agui.contrib.spending.ledger import Spent
from agui.runs.usage import is_counted
from agui.stores.summary import clean

if TYPE_CHECKING:
    from agui.runs.record import ActiveRun


def spent_by_model(
    usage: RunUsage, messages: Iterable[ModelMessage], model: str
) -> dict[str, Spent]:
    """Split what a run has used by the models that gave its responses.

    Usage that is in no response, as that of another agent which a tool has called, counts for
    `model`.
    """
    by_model: dict[str, Spent] = {}
    for message in messages:
        if isinstance(message, ModelResponse) and is_counted(message):
            name = clean(message.model_name or model)[:255]
            by_model[name] = by_model.get(name, Spent()) + Spent.from_usage(message.usage)
    # A tool may have called another agent, whose responses are not in these messages.
    rest = Spent.from_usage(usage) - sum(by_model.values(), Spent())
    if rest.tokens or rest.cost:
        if rest.cost is None:
            rest = rest._replace(unpriced=max(1, rest.requests))
        by_model[model] = by_model.get(model, Spent()) + rest
    return by_model


def usage_of(run: "ActiveRun") -> dict[str, Any]:
    """Sum up what a run has used: tokens, US dollars, and how much of the context is full.

    The price and the size of the context are left out if nobody knows them.
    """
    usage = run.usage
    payload: dict[str, Any] = {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
    }
    if usage.cost is not None:
        payload["cost"] = float(usage.cost)
    responses = [message for message in run.messages() if isinstance(message, ModelResponse)]
    # An agent of the project may name its model.
    window = getattr(run.served.model, "context_window", None)
    if responses and window:
        last = responses[-1].usage
        payload |= {"contextTokens": last.total_tokens, "contextWindow": window}
    return payload
