from typing import TYPE_CHECKING

from django.core import checks

from agui import conf
from agui.contrib.redis.checks import check_processes
from agui.contrib.redis.conf import RedisSettings
from agui.parts import Part

if TYPE_CHECKING:
    from agui.runlog.memory import RunLogs


class RedisConfig(Part):
    name = "agui.contrib.redis"
    label = "agui_redis"
    verbose_name = "Agent: several processes"
    settings = RedisSettings

    def ready(self) -> None:
        checks.register(check_processes, deploy=True)

    def run_logs(self) -> "RunLogs | None":
        url = conf.part(RedisSettings).url
        if url is None:
            return None
        # The library is an extra, so import it only if a project uses it.
        from agui.contrib.redis.logs import RedisLogs
        from agui.runs import recovery

        return RedisLogs(url, recovery)
