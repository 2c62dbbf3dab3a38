"""Parts: what a project can do without, each a Django app on this one class. Your own parts use it, too.

    class WeatherConfig(Part):
        name = "weather"
        routes = {"weather": ("weather/", "weather.views.WeatherView")}

The core finds the parts in INSTALLED_APPS and calls their methods, part after part in that order. It never names one.
"""

from typing import TYPE_CHECKING, Any, ClassVar

from django.apps import AppConfig, apps

if TYPE_CHECKING:
    from agui.conf_sections import Section


class Part(AppConfig):
    """A part of the engine: an app in INSTALLED_APPS whose AppConfig is a Part. Each method has a default: nothing."""

    default = False  # Django would take it for the AppConfig of each module that imports it

    settings: ClassVar["type[Section] | None"] = None
    """The part's section of the AGUI dictionary. Its key is the last word of the app's name: `AGUI["WEATHER"]`."""

    routes: ClassVar[dict[str, tuple[str, str]]] = {}
    """Routes under the prefix of each agent, by name: the route, and the dotted path of a subclass of AgentView."""

    def __init_subclass__(cls) -> None:
        cls.default = True

    @property
    def key(self) -> str:
        return self.name.rpartition(".")[2].upper()

    def page_attributes(self) -> dict[str, Any]:
        """Attributes of `<agui-chat>` on the pages of this project; None is an attribute without a value."""
        return {}

    def client_capabilities(self) -> dict[str, Any]:
        """What clients find under `custom` in an agent's capabilities."""
        return {}


def installed() -> list[Part]:
    """List the parts of this project, in the order of INSTALLED_APPS."""
    return [config for config in apps.get_app_configs() if isinstance(config, Part)]
