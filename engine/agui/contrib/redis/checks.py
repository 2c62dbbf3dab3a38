from typing import Any

from django.core import checks

from agui import conf
from agui.contrib.redis.conf import RedisSettings


def check_processes(**kwargs: Any) -> list[checks.CheckMessage]:
    """Say that only one process can serve the site. That is no mistake, so this only informs."""
    if conf.part(RedisSettings).url is not None:
        return []
    return [
        checks.Info(
            "Without REDIS_URL, one process serves the site: a second one could not follow or stop "
            "its runs.",
            hint="For more processes, start Redis, install agui-django[redis], and set REDIS_URL.",
            id="agui_redis.I001",
        )
    ]
