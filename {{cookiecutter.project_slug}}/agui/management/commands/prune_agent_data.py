"""Delete what is older than AGUI["RETENTION"] allows, and what is nobody's any more.

Transactions are short, and others can write in between. What can't be deleted stops nothing else.
"""

import logging
import time
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from datetime import datetime, timedelta
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessionStore
from django.core.management.base import BaseCommand, CommandError
from django.db import connections, router
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from pydantic_ai.conversation_store import ConversationConflict

from agui import conf, parts
from agui.models import ApiToken, AuditRecord, Run, Thread
from agui.parts import Outdated, Part
from agui.stores.rows import delete_thread

logger = logging.getLogger("agui.prune")

BATCH = 200
MAX_AGE = 100_000
VISITOR = "session:"
# SQLite takes one writer at a time. Who waits asks every tenth of a second, and has to meet a
# pause.
WORK_SECONDS = 0.2
PAUSE_SECONDS = 0.12
# Longer than any process that is alive says nothing of its runs.
SILENCE = timedelta(hours=1)
# For so long, a token that is no longer good may still explain something.
TOKEN_AGE = timedelta(days=30)


class Command(BaseCommand):
    help = "Delete old conversations, runs and audit records, unused files, dead tokens, what visitors have left."

    def add_arguments(self, parser: ArgumentParser) -> None:
        kept = conf.get().retention
        for name, unit, default, what in (
            (
                "conversations",
                "DAYS",
                kept.conversations_days,
                "Conversations without a new message for so long",
            ),
            ("runs", "DAYS", kept.runs_days, "Records of runs that began so long ago"),
            ("audit", "DAYS", kept.audit_days, "Records of tool calls made so long ago"),
        ):
            parser.add_argument(
                f"--{name}", type=_age, metavar=unit, default=default, help=f"{what} [%(default)s]."
            )
        parser.add_argument("--dry-run", action="store_true", help="Only say what would go.")

    def handle(self, *args: Any, **options: Any) -> None:
        self.now = timezone.now()
        self.pause_at = time.monotonic() + WORK_SECONDS
        self.dry_run: bool = options["dry_run"]
        self.failed = False
        self.gone: set[int] = set()  # The threads that a dry run has come across
        of_parts = [outdated for part in parts.installed() for outdated in self.ask(part)]
        # Before the conversations, which take the rest of their runs along: so a dry run counts the
        # same.
        if days := options["runs"]:
            self.prune_rows(
                Outdated("runs", self.ended_runs().filter(started_at__lt=self.before(days=days)))
            )
        if days := options["audit"]:
            records = AuditRecord.objects.filter(started_at__lt=self.before(days=days))
            self.prune_rows(Outdated("records of tool calls", records))
        long_ago = self.now - TOKEN_AGE
        dead = ApiToken.objects.filter(Q(expires_at__lt=long_ago) | Q(revoked_at__lt=long_ago))
        self.prune_rows(Outdated("dead tokens", dead))
        if days := options["conversations"]:
            threads = Thread.objects.filter(updated_at__lt=self.before(days=days))
            self.prune("conversations", self.prune_threads, threads)
        self.prune("conversations of visitors who are gone", self.prune_visitors)
        for outdated in of_parts:
            self.prune_rows(outdated)
        if self.failed:
            raise CommandError("Not everything could be deleted: the log says what and why.")

    def ask(self, part: Part) -> list[Outdated]:
        """Tell a part what is about to go. What has to be forgotten goes all the same if that fails."""
        try:
            return list(part.prune(self.dry_run))
        except Exception:
            self.failed = True
            logger.exception("%s could not say what it keeps no longer", part.verbose_name)
            return []

    def prune(self, what: str, step: Callable[..., int], *args: Any) -> None:
        try:
            count = step(*args)
        except Exception:
            self.failed = True
            logger.exception("Deleting %s failed", what)
        else:
            self.stdout.write(f"{'Would delete' if self.dry_run else 'Deleted'} {what}: {count}")

    def pause(self) -> None:
        if (
            connections[router.db_for_write(Thread)].vendor == "sqlite"
            and time.monotonic() > self.pause_at
        ):
            time.sleep(PAUSE_SECONDS)
            self.pause_at = time.monotonic() + WORK_SECONDS

    def before(self, **age: int) -> datetime:
        return self.now - timedelta(**age)

    def at_work(self) -> QuerySet[Run]:
        return Run.objects.filter(status=Run.Status.RUNNING, seen_at__gte=self.now - SILENCE)

    def ended_runs(self) -> QuerySet[Run]:
        """Not those that died with their process: their thread takes what they said when it is next opened."""
        thread = Exists(
            Thread.objects.filter(thread_id=OuterRef("thread_id"), scope=OuterRef("scope"))
        )
        return Run.objects.exclude(
            Q(thread) | Q(seen_at__gte=self.now - SILENCE), status=Run.Status.RUNNING
        )

    def prune_rows(self, outdated: Outdated) -> None:
        self.prune(outdated.name, self.count if self.dry_run else self.delete, outdated)

    def count(self, outdated: Outdated) -> int:
        return outdated.rows.count()

    def delete(self, outdated: Outdated) -> int:
        count, rest = 0, outdated.rows.order_by("pk").values_list("pk", flat=True)
        batch = min(BATCH, outdated.batch)
        pks = list(rest[:batch])
        while pks:
            try:
                count += outdated.delete(pks)
            except Exception:
                self.failed = True
                logger.exception("Deleting %s failed: %s", outdated.name, pks)
            self.pause()
            pks = list(rest.filter(pk__gt=pks[-1])[:batch])
        return count

    def prune_threads(self, rows: QuerySet[Thread]) -> int:
        at_work = self.at_work().filter(thread_id=OuterRef("thread_id"), scope=OuterRef("scope"))
        rows = rows.filter(~Exists(at_work)).order_by("pk").only("thread_id", "scope", "revision")
        count, last = 0, 0
        while batch := list(rows.filter(pk__gt=last)[:BATCH]):
            last = batch[-1].pk
            count += sum(self.prune_thread(thread) for thread in batch)
        return count

    def prune_thread(self, thread: Thread) -> bool:
        if self.dry_run:
            is_new = thread.pk not in self.gone
            self.gone.add(thread.pk)
            return is_new
        try:
            # In this revision: whoever comes back to it at this moment keeps it.
            delete_thread(thread.thread_id, thread.scope, thread.revision)
        except ConversationConflict:
            return False
        except Exception:
            self.failed = True
            logger.exception("Deleting thread %s failed", thread.thread_id)
            return False
        self.pause()
        return True

    def prune_visitors(self) -> int:
        """Without his session a visitor can't read, export or delete what was his, nor can anybody for him."""
        old = Thread.objects.filter(updated_at__lt=self.before(seconds=settings.SESSION_COOKIE_AGE))
        scopes = (
            old.filter(owner=None, scope__startswith=VISITOR)
            .order_by()
            .values_list("scope", flat=True)
            .distinct()
        )
        count, last = 0, ""
        while batch := list(scopes.filter(scope__gt=last).order_by("scope")[:BATCH]):
            last = batch[-1]
            gone = set(batch) - {
                VISITOR + key
                for key in self.live_sessions([s.removeprefix(VISITOR) for s in batch])
            }
            count += self.prune_threads(old.filter(scope__in=gone))
        return count

    def live_sessions(self, keys: list[str]) -> set[str]:
        engine = import_module(settings.SESSION_ENGINE).SessionStore
        if issubclass(engine, DatabaseSessionStore):
            # Not `exists`: it knows those, too, that have expired and wait for `clearsessions`.
            sessions = engine.get_model_class().objects.filter(
                session_key__in=keys, expire_date__gt=self.now
            )
            return set(sessions.values_list("session_key", flat=True))
        return {key for key in keys if engine().exists(key)}


def _age(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= MAX_AGE:
        raise ArgumentTypeError(f"{text!r} is not a number from 1 to {MAX_AGE}.")
    return int(text)
