"""What is changed of daphne is as it was, or it is left alone."""

from typing import Any

import daphne  # type: ignore[import-untyped]
import pytest
from daphne import http_protocol, server

from agui.contrib.pacing import daphne_patches


def test_daphne_is_as_known():
    assert daphne_patches.is_as_known()


def changed_reply(self: Any, protocol: Any, message: Any) -> None:
    """Hand a reply on at once."""


async def other_reply(self: Any, message: Any) -> None:
    """Hand a reply on to somebody else."""


@pytest.mark.parametrize("reply", [changed_reply, other_reply, None])
def test_another_daphne_is_left_alone(monkeypatch, caplog, reply):
    before = http_protocol.WebRequest
    monkeypatch.setattr(server.Server, "handle_reply", reply)
    daphne_patches.pace_daphne()
    assert server.Server.handle_reply is reply
    assert http_protocol.WebRequest is before
    assert f"Not patching daphne {daphne.__version__}" in caplog.text
