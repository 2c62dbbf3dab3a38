"""Runs that another process takes over. Not with PostgreSQL and Redis yet: there a connection stays open."""

from typing import Any

import pytest

from agui.contrib.queue.models import QueuedMessage
from agui.models import Run
from agui.runs import deliver
from agui.runs.recovery import recover
from agui.stores.model import ModelConversationStore
from agui.testing import call, say
from engine.conftest import Client, script
from engine.queueing import Gate, Queue, Reading, settled, texts
from engine.test_queue_kept import READ, steer
from engine.test_recovery import GONE


@pytest.mark.parametrize("has_draft", [True, False])
async def test_a_process_dies_after_its_model_has_read_a_message(client: Client, queue: Queue, has_draft: bool):
    gates = Gate(), Gate()
    with script([call("echo", text="a"), gates[0]()], [gates[1](), say("Late.")], say("Again.")):
        run = await steer(client, queue, *gates)
        row = await Run.objects.aget()
        await Run.objects.aupdate(process=GONE, **({} if has_draft else {"draft": None}))
        await recover(ModelConversationStore(), row.scope, "t1")
        # The message is in the thread with the draft, or waits if the draft was lost.
        assert await queue.waiting() == ([] if has_draft else ["Stop"])
        await run.end(gates[1])
        await settled()
        assert await texts(client) == (READ if has_draft else ["Go"])
        assert await queue.waiting() == ([] if has_draft else ["Stop"])
        await queue.send("POST", {}, status=202)
        await settled()
    assert (await texts(client)).count("Stop") == 1
    assert await queue.waiting() == []


async def test_a_run_that_another_process_has_taken_over_reads_nothing_more(
    client: Client, queue: Queue, monkeypatch: pytest.MonkeyPatch
):
    gate, write = Gate(), deliver._write

    def after_the_take_over(*args: Any) -> None:
        Run.objects.update(process=GONE)
        write(*args)

    monkeypatch.setattr(deliver, "_write", after_the_take_over)
    with script([call("echo", text="a"), gate()], say("Late.")) as model:
        run = Reading(client, "Go")
        await run.at(gate)
        await queue.steer("Stop")
        await run.end(gate)
    assert await QueuedMessage.objects.filter(state="waiting").acount() == 1
    assert len(model.requests) == 1
