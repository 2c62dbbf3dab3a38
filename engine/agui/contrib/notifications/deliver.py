"""Send what is due: in each process that serves or executes runs, and by `send_notifications`.

Each message is sent at least once. If a process dies between sending a message and recording that,
another one sends it again, with the same id.
"""

import asyncio
import contextvars
import logging
from contextlib import suppress

from agui.blocking.executor import in_database, run_in_thread
from agui.contrib.notifications import choices, mail, outbox, webhook
from agui.contrib.notifications.models import Notification, NotificationChoice
from agui.contrib.notifications.receivers import NotSent
from agui.models import get_conversation_model
from agui.runs import recovery

logger = logging.getLogger("agui.notifications")

# How often to look for what other processes have left.
POLL_SECONDS = 30.0
# Messages that one process sends at once.
MAX_AT_ONCE = 20
MAIL_SECONDS = 60.0

Thread = get_conversation_model()


class Deliveries:
    """The messages that this process sends."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._woken = asyncio.Event()
        self._sending: set[asyncio.Task[None]] = set()
        self._forgetting: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Begin to send, unless this event loop does so."""
        loop = asyncio.get_running_loop()
        if self._task is not None and self._loop is loop and not self._task.done():
            return
        self._loop = loop
        self._woken = asyncio.Event()
        self._sending = set()
        self._task = loop.create_task(self._run(), context=contextvars.Context())

    def wake(self) -> None:
        """Look at once for what is due. Any thread may call this."""
        if self._loop is not None:
            # The event loop may have ended.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._woken.set)

    def forget(self, key: str) -> None:
        """Tell nobody of a run whose end was read."""
        task = asyncio.get_running_loop().create_task(_forget(key), context=contextvars.Context())
        self._forgetting.add(task)
        task.add_done_callback(self._forgetting.discard)

    async def stop(self) -> None:
        """Give up what is being sent: another process sends it again when the lease has ended."""
        for task in (self._task, *self._sending):
            if task and _is_here(task):
                task.cancel()
        tasks = [task for task in (self._task, *self._sending, *self._forgetting) if task]
        await asyncio.gather(*filter(_is_here, tasks), return_exceptions=True)
        self._task = None

    async def _run(self) -> None:
        while True:
            self._woken.clear()
            pause = POLL_SECONDS
            try:
                await self._send_due()
                pause = await self._pause()
            except Exception as error:
                logger.warning(
                    "Looking for notifications failed: %s; retrying in %s s", error, POLL_SECONDS
                )
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._woken.wait()

    async def _send_due(self) -> None:
        await recovery.sweep()  # A run whose process died has failed, too.
        free = MAX_AT_ONCE - len(self._sending)
        if free <= 0:
            return
        for row in await in_database(outbox.claim, free):
            task = asyncio.get_running_loop().create_task(deliver(row))
            self._sending.add(task)
            task.add_done_callback(self._sent)

    def _sent(self, task: asyncio.Task[None]) -> None:
        self._sending.discard(task)
        self._woken.set()

    async def _pause(self) -> float:
        """Return how long to wait, if nobody calls `wake`."""
        seconds = None
        if len(self._sending) < MAX_AT_ONCE:
            seconds = await in_database(outbox.seconds_to_next)
        return POLL_SECONDS if seconds is None else min(seconds, POLL_SECONDS)


def _is_here(task: asyncio.Task[None]) -> bool:
    """Return whether a task is of this event loop. Others may have ended before their tasks."""
    return task.get_loop() is asyncio.get_running_loop()


async def _forget(key: str) -> None:
    try:
        await in_database(outbox.forget, key)
    except Exception as error:
        logger.warning("The user is told of run %s, whose end they have read: %s", key, error)


async def deliver_all() -> int:
    """Send everything that is due; returns how many messages that were."""
    number = 0
    while rows := await in_database(outbox.claim, MAX_AT_ONCE):
        await asyncio.gather(*map(deliver, rows))
        number += len(rows)
    return number


async def deliver(row: Notification) -> None:
    """Send one message that this process has claimed, and record how that ended."""
    try:
        choice = await in_database(_needed, row)
        if choice is None:
            await in_database(outbox.drop, [row])
            return
        try:
            await _send(row, choice)
        except NotSent as failure:
            await _record_failure(row, choice, failure.code)
        else:
            await in_database(outbox.settle, row, "")
    except Exception as error:
        # The text of an error may have an address, which may be secret.
        logger.warning(
            "Sending notification %s failed: %s; another attempt follows in %s s",
            row.pk,
            type(error).__name__,
            outbox.LEASE_SECONDS,
        )


def _needed(row: Notification) -> NotificationChoice | None:
    """Return what the user has chosen; None if they need not or must not be told any more."""
    choice = choices.choice_of(row.owner_id)
    user = choice.user
    if not user.is_active or row.channel not in choices.channels(choice):
        return None
    if row.attempts == 1 and row.kind != Notification.Kind.FAILED and _was_shown(row):
        return None
    return choice


def _was_shown(row: Notification) -> bool:
    """Whether a page has shown the answer meanwhile. A run that fails may leave nothing to show."""
    marks = Thread.objects.filter(thread_id=row.thread_id, scope=row.scope)
    return marks.values_list("unread", flat=True).first() is False


async def _send(row: Notification, choice: NotificationChoice) -> None:
    if row.channel == Notification.Channel.WEBHOOK:
        body = webhook.body_of(row)
        user_id, seed = choice.user_id, choice.webhook_seed
        await webhook.post(
            choice.webhook, webhook.headers_of(str(row.pk), body, user_id, seed), body
        )
        return
    try:
        async with asyncio.timeout(MAIL_SECONDS):
            await run_in_thread(mail.send, row, choice, pool="mail")
    except TimeoutError:
        raise NotSent("timeout") from None


async def _record_failure(row: Notification, choice: NotificationChoice, code: str) -> None:
    logger.info("Notification %s was not sent: %s (attempt %s)", row.pk, code, row.attempts)
    if code == webhook.GONE:
        await in_database(choices.end_webhook, choice)
    if code in (webhook.GONE, mail.NO_ADDRESS):
        await in_database(outbox.give_up, row, code)
    else:
        await in_database(outbox.settle, row, code)


deliveries = Deliveries()
