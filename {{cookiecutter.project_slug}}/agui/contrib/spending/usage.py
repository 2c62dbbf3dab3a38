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
    """Split what a run has used by the models that gave these responses of it.

    What no response accounts for, as the work of an agent that a tool has asked, is put down to
    `model`.
    """
    found: dict[str, Spent] = {}
    for message in messages:
        if isinstance(message, ModelResponse) and is_counted(message):
            name = clean(message.model_name or model)[:255]
            found[name] = found.get(name, Spent()) + Spent.of(message.usage)
    rest = Spent.of(usage) - sum(found.values(), Spent())
    if rest.input_tokens or rest.output_tokens or rest.cost:
        if rest.cost is None:
            rest = rest._replace(unpriced=max(1, rest.requests))
        found[model] = found.get(model, Spent()) + rest
    return found
