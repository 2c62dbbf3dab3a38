import io
import json
import logging
import logging.config

import pytest
from django.conf import settings

from agui.log_fields import log_fields


@pytest.fixture
def written():
    """What a logger of the project writes with a format."""
    root = logging.getLogger()
    before = root.handlers[:], root.level

    def write(log_format, say):
        stream = io.StringIO()
        console = {**settings.LOGGING["handlers"]["console"], "formatter": log_format, "stream": stream}
        config = {**settings.LOGGING, "handlers": {"console": console}}
        logging.config.dictConfig(config)
        say(logging.getLogger("assistant.sample"))
        return stream.getvalue()

    yield write
    root.handlers[:], root.level = before


@pytest.mark.parametrize(
    ("message", "value", "line"),
    [
        ("Sold %s", "out", "INFO assistant.sample: Sold out"),
        # Users can write no line of their own, and colours of a terminal are no text.
        ("Said %s", "x\n2026 ERROR: down\r\x1b[2J\u2028y\tz", r"Said x\n2026 ERROR: down\r\x1b[2J\u2028y" + "\tz"),
        ("\x1b[32;1mHTTP GET %s\x1b[0m 200", "/", "assistant.sample: HTTP GET / 200"),
    ],
)
def test_text_is_a_line_that_ends_with_the_run(written, message, value, line):
    def say(logger):
        with log_fields(run_id="r1", thread_id="t\n1"):
            logger.info(message, value)
        logger.info(message, value)

    first, second = written("text", say).splitlines()
    assert first.endswith(line + r' [run_id="r1" thread_id="t\n1"]')
    assert second.endswith(line)


def test_exception_writes_no_line_that_looks_like_one_of_the_log(written):
    forged = "x\n2026-01-01 00:00:00,000 ERROR root: down\rOops\u2028Oops\x1b[2J\x85Oops"

    def say(logger):
        try:
            raise ValueError(forged)
        except ValueError:
            logger.exception("It failed", stack_info=True)

    first, *others = written("text", say).splitlines()
    assert first.endswith("ERROR assistant.sample: It failed")
    assert "    Traceback (most recent call last):" in others
    assert r"    2026-01-01 00:00:00,000 ERROR root: down\rOops\u2028Oops\x1b[2J\x85Oops" in others
    assert [line for line in others if not line.startswith("    ")] == []


def test_json_is_one_object_a_line(written):
    def say(logger):
        with log_fields(run_id="r1", thread_id="t1", user_id="7", trace_id="0af7"):
            logger.warning("Two\nlines of %r", object)
        try:
            raise KeyError("shelf")
        except KeyError:
            logger.exception("It failed")

    told, failed = map(json.loads, written("json", say).splitlines())
    assert told.pop("time").endswith("+00:00")
    assert told == {
        "level": "WARNING",
        "logger": "assistant.sample",
        "message": "Two\nlines of <class 'object'>",
        "run_id": "r1",
        "thread_id": "t1",
        "user_id": "7",
        "trace_id": "0af7",
    }
    assert failed["exception"].endswith("KeyError: 'shelf'")
