"""What every test starts from: the demo model, whatever .env says, and no way to reach a real one."""

from django.conf import settings
from pydantic_ai import models

models.ALLOW_MODEL_REQUESTS = False
settings.AGENT_MODEL = "demo"
# The real ones are slow on purpose: half a second for each user that a test makes.
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
