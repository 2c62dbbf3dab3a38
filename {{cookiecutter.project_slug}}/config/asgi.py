"""The application that an ASGI server runs: `daphne config.asgi:application`."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_asgi_application()

# The agent is built now: a wrong model stops the start of the server, not a user's first message.
from assistant.agent import view  # noqa: E402

view.agent  # noqa: B018
