"""The settings of django-ag-ui, and every statement noted."""

import counted  # noqa: F401
from django_ag_ui_settings import *  # noqa: F403
