"""The generated project's settings, with django-ag-ui's endpoint and store instead of ours."""

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS, MIDDLEWARE

INSTALLED_APPS = [*INSTALLED_APPS, "django_spec_agents.contrib.store"]
# Without what the template does for speed.
MIDDLEWARE = [name for name in MIDDLEWARE if not name.startswith("agui.")]
ROOT_URLCONF = "django_ag_ui_urls"
