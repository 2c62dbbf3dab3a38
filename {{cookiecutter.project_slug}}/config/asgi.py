"""The application that an ASGI server runs: `daphne config.asgi:application`."""

import gc
import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

django_application = get_asgi_application()

from agui.admission import limit_bodies  # noqa: E402
from agui.pacing import pace_daphne  # noqa: E402
from assistant.agent import view  # noqa: E402

pace_daphne()
application = limit_bodies(django_application)

# The agent is built now: a wrong model stops the start of the server, not a user's first message.
view.agent  # noqa: B018

# What start-up has made stays for good: the garbage collector need not look at it again and again.
gc.freeze()
