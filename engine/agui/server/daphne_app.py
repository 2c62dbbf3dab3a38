"""daphne for INSTALLED_APPS: only `runserver` imports its server, and with it Twisted."""

from django.apps import AppConfig


class DaphneConfig(AppConfig):
    name = "daphne"
