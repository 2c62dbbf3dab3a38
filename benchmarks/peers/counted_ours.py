"""The settings of this template, and every statement noted."""

import counted  # noqa: F401
from config.settings import *  # noqa: F403
