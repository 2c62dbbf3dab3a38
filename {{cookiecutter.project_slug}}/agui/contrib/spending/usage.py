"""What a run has used, by the models that answered it."""

from collections.abc import Iterable

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.usage import RunUsage

from agui.contrib.spending.ledger import Spent
from agui.runs.usage import is_counted
from agui.stores.summary import clean


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
            by_model[name] = by_model.get(name, Spent()) + Spent.of(message.usage)
    # A tool may have called another agent, whose responses are not in these messages.
    rest = Spent.of(usage) - sum(by_model.values(), Spent())
    if rest.tokens or rest.cost:
        if rest.cost is None:
            rest = rest._replace(unpriced=max(1, rest.requests))
        by_model[model] = by_model.get(model, Spent()) + rest
    return by_model
