from importlib.util import find_spec
from typing import Any

from django.apps import apps
from django.core import checks
from django.db import connections, router
from django.utils.module_loading import import_string

from agui import conf
from agui.contrib.durable.conf import DurableSettings
from agui.contrib.redis.conf import RedisSettings


def check_executor(**kwargs: Any) -> list[checks.CheckMessage]:
    """Report what is missing for workers."""
    if not conf.part(DurableSettings).is_on:
        return []
    database = connections[router.db_for_write(apps.get_model("agui", "Run"))]
    store = import_string(conf.get().conversation_store)
    missing = []
    if find_spec("dbos") is None:
        missing.append("packages: install agui-django[durable]")
    if database.vendor != "postgresql":
        missing.append("PostgreSQL: set DATABASE_URL")
    if conf.part(RedisSettings).url is None:
        missing.append("Redis, to follow and stop runs of other processes: set REDIS_URL")
    if store.needs_request:
        missing.append("a conversation store that works without a request")
    setting = "AGUI['DURABLE']['RUN_EXECUTOR']"
    return [
        checks.Error(f"{setting} is 'dbos', but lacks {need}.", id="agui.E003") for need in missing
    ]
