"""Which models have a known price."""

from django.conf import settings

from agui.agents.keys import PROVIDER_KEYS


def models_without_price() -> list[str]:
    """List the models of AGENT_MODEL that are not on the list of prices."""
    return [name.strip() for name in settings.AGENT_MODEL.split(",") if not has_price(name.strip())]


def has_price(model: str) -> bool:
    """Whether a model of a provider that we know is on the list of prices; of others nothing can be told."""
    provider, _, name = model.partition(":")
    if provider not in PROVIDER_KEYS:
        return True
    from genai_prices import Usage, calc_price

    try:
        calc_price(Usage(input_tokens=1), name, provider_id=provider.partition("-")[0])
    except LookupError:
        return False
    return True
