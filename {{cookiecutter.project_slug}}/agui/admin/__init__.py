"""What the engine keeps, in the admin: each of these registers its tables."""

from agui.admin import records as records
from agui.admin import tokens as tokens
