"""The application that an ASGI server runs: `daphne config.asgi:application`."""

import os

from agui.server.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_asgi_application()
