"""The generated project's settings, with room for the streams of a benchmark."""

from config.settings import *  # noqa: F403

AGUI = {
    "MAX_CONCURRENT_RUNS": 1000,
    "MAX_RUNS_PER_USER": 1000,
    "MAX_READERS_PER_USER": 1000,
}
