"""The engine's tables in the admin, and those of parts. Importing these modules registers them."""

from django.utils.module_loading import autodiscover_modules

from agui.contrib.admin import runs as runs
from agui.contrib.admin import tokens as tokens
from agui.contrib.admin.threads import register_conversations

# A part's tables look like the engine's, in a module of their own: without this part, nothing
# imports it.
autodiscover_modules("agui_admin")
register_conversations()
