"""The engine's own tests on PostgreSQL and Redis: by day those that touch rows, locks, logs and connections."""

from pathlib import Path

import pytest
from postgresql import PostgreSQL
from redis_server import RedisServer, find_redis
from test_engine import ENGINE_TESTS, run_engine_tests

pytestmark = pytest.mark.engine
OF_DATABASES = sorted(
    f"tests/{path.name}" for path in ENGINE_TESTS.glob("test_*.py") if "mark.database" in path.read_text()
)


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("by_day", ["-m", "database and not nightly", "--first-values", *OF_DATABASES]),
        pytest.param("at_night", ["tests"], marks=pytest.mark.nightly),
    ],
)
def test_engine_on_postgresql(
    bake,
    furnish,
    postgresql_server: PostgreSQL,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    name: str,
    chosen: list[str],
):
    project = bake()
    furnish(project)
    settings = {"DATABASE_URL": postgresql_server.create(f"engine_{name}")}
    if find_redis():
        redis = RedisServer(tmp_path)
        redis.start()
        request.addfinalizer(redis.stop)
        settings["TEST_REDIS_URL"] = redis.url
    run_engine_tests(project, *chosen, **settings)
