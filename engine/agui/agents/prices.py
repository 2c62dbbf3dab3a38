"""The language models that have a known price."""

from agui import conf
from agui.agents.keys import PROVIDER_KEYS


def models_without_price() -> list[str]:
    """List the models of AGENT_MODEL that are not on the list of prices."""
    names = map(str.strip, conf.agent_model().split(","))
    return [name for name in names if not has_price(name)]


def has_price(model: str) -> bool:
    """Whether a model is on the list of prices. Models of unknown providers count as priced."""
    provider, _, name = model.partition(":")
    if provider not in PROVIDER_KEYS:
        return True
    from genai_prices import Usage, calc_price

    try:
        calc_price(Usage(input_tokens=1), name, provider_id=provider.partition("-")[0])
    except LookupError:
        return False
    return True
