"""The generated project's application, its agent with the benchmark's tools."""

import django

django.setup()

from agui import tool  # noqa: E402
from assistant.tools import registry  # noqa: E402
from tools import more_tools  # noqa: E402

for function in more_tools:
    tool(registry)(function)

from config.asgi import application  # noqa: E402, F401
