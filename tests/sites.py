"""A whole site instead of one server: two processes behind nginx, with PostgreSQL and Redis."""

from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from nginx import nginx
from postgresql import PostgreSQL
from redis_server import RedisServer
from servers import Daphne, LiveProject, free_port


@dataclass
class Site(LiveProject):
    """One address; nginx chooses, for each request, who answers it."""

    running: ExitStack = field(default_factory=ExitStack, repr=False)

    def start(self) -> None:
        processes = [
            Daphne(self.path, free_port(), self.username, self.password, self.token, self.settings) for _ in range(2)
        ]
        for process in processes:
            process.start()
            self.running.callback(process.stop)
        ports = [process.port for process in processes]
        directory = Path(mkdtemp(prefix="nginx-", dir=self.path.parent))
        self.port = self.running.enter_context(nginx(self.path / "nginx.conf", ports, directory))

    def stop(self) -> None:
        self.running.close()


class WholeSite:
    """What serves projects, all with the same servers behind them."""

    server = Site

    def __init__(self, postgresql: PostgreSQL, redis: RedisServer) -> None:
        self.redis = redis
        # A project that is served twice at once has one database, as it has one without this.
        self.database = cache(lambda project: postgresql.create(f"site_{project.parent.name}_{project.name}"))

    def settings(self, project: Path) -> dict[str, str]:
        return {"DATABASE_URL": self.database(project), "REDIS_URL": self.redis.url, "DEBUG": "1"}
