from collections.abc import AsyncGenerator
from importlib import import_module
from typing import Any

from agui.contrib.fast.guard import guarded
from agui.parts import Part


class FastConfig(Part):
    name = "agui.contrib.fast"
    label = "agui_fast"
    verbose_name = "Agent: speed"

    # The pieces are imported under their guards: a name that they import may be gone.

    def ready(self) -> None:
        with guarded("statements", "django"):
            import_module("agui.contrib.fast.sql").use_plain_sql()

    def prepare(self) -> None:
        with guarded("agents", "pydantic_ai"):
            import_module("agui.contrib.fast.pydantic_ai_patches").make_faster()

    def wrap_application(self, application: Any) -> Any:
        with guarded("requests with API tokens", "django"):
            import_module("agui.contrib.fast.token_requests").keep_on_loop(application)
        with guarded("the end of requests", "asgiref"):
            closing = import_module("agui.contrib.fast.closing")
            return closing.close_on_loop(application)
        return application

    def wrap_events(self, run: Any, events: AsyncGenerator[Any]) -> AsyncGenerator[Any]:
        with guarded("streams of text", "pydantic_ai"):
            texts = import_module("agui.contrib.fast.texts")
            return texts.skip_stages(run, events, self)
        return events
