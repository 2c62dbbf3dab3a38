from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from django.conf import settings

from agui import conf
from agui.contrib.titles.conf import SAME, TitlesSettings
from agui.lazy_import import LazyImport
from agui.parts import Part

if TYPE_CHECKING:
    from agui.contrib.titles import after_run
else:
    after_run = LazyImport("agui.contrib.titles.after_run")


class TitlesConfig(Part):
    name = "agui.contrib.titles"
    label = "agui_titles"
    verbose_name = "Agent: titles"
    settings = TitlesSettings
    page_modules = {"run:titles": "agui_titles/titles.js"}

    def modules_of_page(self, agent: str) -> Mapping[str, str]:
        # The page waits for a title only where one may come.
        return self.page_modules if _may_come() else {}

    def run_context(self, run: Any) -> AbstractContextManager[Any]:
        return _titling(run)

    async def shutdown(self) -> None:
        await after_run.stop_all()


def _may_come() -> bool:
    model = conf.part(TitlesSettings).model
    if model == SAME:
        return not settings.AGENT_MODEL.startswith(("demo", "python:"))
    return model is not None


@contextmanager
def _titling(run: Any) -> Iterator[None]:
    """Make a title once the run has ended, and its last event was sent."""
    yield
    if conf.part(TitlesSettings).model:
        after_run.begin(run)
