"""The ASGI application of the project, with its agents built before the first request."""

import gc

from django.core import asgi

from agui.http.admission import Application, limit_bodies
from agui.later import Later

# Their imports need the applications, which Django loads first.
warm_up, daphne_patches = Later("agui.server.warm_up"), Later("agui.server.daphne_patches")


def get_asgi_application() -> Application:
    """Return Django's application, which reads no more of a body than it has to.

    Each agent that the routes name is built now: a wrong model or tool stops the start of the
    server, and not a user's first message. Raises what they raise.
    """
    application = asgi.get_asgi_application()
    warm_up.build_agents()
    daphne_patches.pace_daphne()
    # What start-up has made stays for good: the garbage collector need not look at it again and
    # again.
    gc.freeze()
    return limit_bodies(application)
