"""Write a conversation as a case for `make eval`: what its user said, and what the agent did."""

import json
import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from pydantic_ai.messages import ModelMessage

from agui import clock
from agui.models import AbstractConversation, get_conversation_model
from agui.protocol.outbound import wire_messages
from agui.stores.rows import read_entries

Thread = get_conversation_model()

MAX_MESSAGES = 10_000


class Command(BaseCommand):
    help = "Write a conversation as a case: a file for evals/ of an application."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("thread", help="The id of the conversation.")
        parser.add_argument(
            "--user", metavar="USERNAME", help="The owner, if several users have this id."
        )
        parser.add_argument(
            "--output", type=Path, metavar="FILE", help="Where to write it [standard output]."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        thread = self.find(options["thread"], options["user"])
        path: Path | None = options["output"]
        document = json.dumps(case_of(thread), indent=2, ensure_ascii=path is None) + "\n"
        if path:
            with open(path, "w", encoding="utf-8", opener=_private) as output:
                output.write(document)
        else:
            self.stdout.write(document, ending="")
        self.stderr.write(
            f"These are the words of {owner_of(thread)}: take out what others are not to read."
        )

    def find(self, thread_id: str, username: str | None) -> AbstractConversation:
        threads = Thread.objects.select_related("owner").filter(thread_id=thread_id)
        if username is not None:
            threads = threads.filter(**{f"owner__{get_user_model().USERNAME_FIELD}": username})
        matches = list(threads[:2])
        if not matches:
            raise CommandError(f"There is no conversation {thread_id!r} in the database.")
        if len(matches) > 1:
            raise CommandError(
                f"Several users have a conversation {thread_id!r}: say whose it is with --user."
            )
        return matches[0]


def case_of(thread: AbstractConversation) -> dict[str, Any]:
    """Build the document: one case, whose evaluator expects the tools that were called.

    It has nothing but this conversation.
    """
    try:
        stored = [entry.message for entry in read_entries(thread.head or "", MAX_MESSAGES)]
    except (LookupError, ValueError):
        raise CommandError(f"The conversation {thread.thread_id!r} can't be read.") from None
    says, answers, calls = [], [], []
    for message in wire_messages(stored):
        if message["role"] == "user":
            says.append(_text(message["content"]))
        if message["role"] == "assistant" and message.get("content"):
            answers.append(message["content"])
        for call in message.get("toolCalls") or ():
            function = call["function"]
            arguments = _arguments(function["arguments"])
            calls.append({"name": function["name"], "arguments": arguments})
    inputs: dict[str, Any] = {"says": [text for text in says if text]}
    if not inputs["says"]:
        raise CommandError(f"The conversation {thread.thread_id!r} has no words of its user.")
    if _has_denial(stored):
        inputs["approves"] = False
    case = {
        "name": thread.title or thread.thread_id,
        "metadata": {
            "thread": thread.thread_id,
            "owner": owner_of(thread),
            "exported": f"{clock.now():%Y-%m-%d}",
        },
        "inputs": inputs,
        "expected_output": {"answers": answers, "calls": calls},
        "evaluators": [{"Calls": {"tools": [call["name"] for call in calls]}}],
    }
    return {"name": f"thread-{thread.thread_id}", "cases": [case]}


def _has_denial(messages: list[ModelMessage]) -> bool:
    for message in messages:
        for part in message.parts:
            if getattr(part, "outcome", "") == "denied":
                return True
    return False


def owner_of(thread: AbstractConversation) -> str:
    return str(thread.owner.get_username()) if thread.owner else "a visitor"


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    texts = [part.get("text", "") for part in content]
    return "\n".join(filter(None, texts))


def _arguments(text: str) -> Any:
    try:
        return json.loads(text or "{}")
    except ValueError:
        return text


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
