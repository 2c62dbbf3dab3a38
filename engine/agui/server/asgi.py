"""The ASGI application of the project, with its agents built before the first request."""

import gc

from django.core import asgi

from agui import parts
from agui.http.admission import Application, limit_bodies
from agui.lazy_import import LazyImport

# This module imports models, so Django has to load the applications first.
warm_up = LazyImport("agui.server.warm_up")


def get_asgi_application() -> Application:
    """Return Django's application, which reads no more of a body than it has to.

    This builds each agent that the routes name. A wrong model or tool therefore stops the server
    at its start, and not a user's first message. Raises what building an agent raises.
    """
    threshold = gc.get_threshold()
    gc.set_threshold(50_000, 20, 100)  # What modules make stays: searching it takes a tenth longer.
    application: Application = asgi.get_asgi_application()
    warm_up.build_agents()
    for part in parts.installed():
        application = part.wrap_application(application)
    # The objects of the start stay for good, so the garbage collector can skip them.
    gc.freeze()
    gc.set_threshold(*threshold)
    return limit_bodies(application)
