"""The engine's tables in the admin. Importing these modules registers them."""

from agui.admin import runs as runs
from agui.admin import threads as threads
from agui.admin import tokens as tokens
