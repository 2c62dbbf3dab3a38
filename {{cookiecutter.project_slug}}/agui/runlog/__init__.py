"""Where a run's events wait for readers.

memory.py      the logs of this process
redis.py       with AGUI["REDIS_URL"], those of all processes
mirror.py      copies what runs here write to Redis
replicas.py    reads what runs elsewhere write
scripts.py     what Redis does in one step
server.py      the connection
"""

from agui import conf
from agui.runlog.memory import RunLog, RunLogs

__all__ = ["RunLog", "RunLogs", "open_logs"]


def open_logs() -> RunLogs:
    """The logs that the settings ask for."""
    url = conf.get().redis_url
    if url is None:
        return RunLogs()
    from agui.runlog.redis import RedisLogs

    return RedisLogs(url)
