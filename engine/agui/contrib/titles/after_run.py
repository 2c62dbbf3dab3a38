"""After a run: a title for its conversation, if it has none but the user's first words.

The run has ended, so nothing waits for the title, and nothing fails with it. A title that a user
has written stays.
"""

import asyncio
import logging
import unicodedata
from typing import Any

from django.utils.module_loading import import_string
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models import Model

from agui import conf, parts
from agui.actor import Actor
from agui.agents.llm import is_stand_in, model_beside, name_of, resolve_model
from agui.blocking.executor import in_database, release_connections
from agui.contrib.titles.conf import SAME, TitlesSettings
from agui.contrib.titles.make import FirstExchange
from agui.models import Run
from agui.runs.record import ActiveRun
from agui.runs.start import detached_context
from agui.stores.summary import UNTITLED, shorten, title_of

logger = logging.getLogger("agui.titles")

MAX_TITLE_CHARS = 80
# What models put around a title.
QUOTES = "\"'`*_#“”„«»「」『』 "

_tasks: set[asyncio.Task[None]] = set()


def begin(run: ActiveRun) -> None:
    """Make a title in the background, if the run has brought the first answer."""
    prompts = sum(map(_is_prompt, run.turn.history))
    answer = _text_of(run.messages())
    if run.status != Run.Status.FINISHED or prompts != 1 or not answer or not run.turn.text:
        return
    model = _model_for(run)
    if model is None or not run.turn.store.keeps_threads:
        return
    exchange = FirstExchange(
        question=run.turn.text, answer=answer, model=model, thread_id=run.log.thread_id
    )
    actor = Actor(run.setup.deps.user, run.log.scope)
    work = _make(run.turn.store, actor, exchange)
    task = asyncio.get_running_loop().create_task(work, context=detached_context())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


async def stop_all() -> None:
    """Give up the titles that are being made."""
    for task in _tasks:
        task.cancel()
    await asyncio.gather(*_tasks, return_exceptions=True)


def _model_for(run: ActiveRun) -> Model | None:
    """Choose the model that makes the title; None if a stand-in has answered."""
    name = conf.part(TitlesSettings).model
    own = None if name in (None, SAME) else resolve_model(name)
    model = model_beside(run.served.model, own)
    # The demo model, and the script of a test, have nothing to say about a conversation.
    if not isinstance(model, Model) or (model is not own and is_stand_in(model)):
        return None
    return model


async def _make(store: Any, actor: Actor, exchange: FirstExchange) -> None:
    thread_id = exchange.thread_id
    settings = conf.part(TitlesSettings)
    try:
        summary = await store.summary(thread_id, scope=actor.scope)
        conversation = await store.load(thread_id, scope=actor.scope)
        if summary is None or conversation is None:
            return  # The conversation was deleted.
        before = title_of(conversation.messages)
        if summary["title"] != (before or UNTITLED):
            return  # The user has renamed it.
        async with asyncio.timeout(settings.timeout_seconds):
            made = await import_string(settings.maker)(exchange)
        title = clean_title(made)
        if title:
            await store.retitle(thread_id, title, before, scope=actor.scope)
    except Exception:
        logger.exception("No title for thread %s: it keeps the user's first words", thread_id)
    finally:
        await _record(actor, exchange)
        await release_connections()


async def _record(actor: Actor, exchange: FirstExchange) -> None:
    """Count what the title has cost the user."""
    if not exchange.usage.has_values():
        return
    model = name_of(exchange.model)

    def record() -> None:
        for part in parts.installed():
            part.models_used(actor, model, exchange.usage)

    try:
        await in_database(record)
    except Exception:
        logger.exception("Recording the usage of a title of %s failed", exchange.thread_id)


def clean_title(text: Any) -> str:
    """Make one line of a model's text, without controls and quotes; '' if there is none."""
    visible = ""
    for char in str(text or "")[: 20 * MAX_TITLE_CHARS]:
        if char.isspace():
            visible += " "
        elif not unicodedata.category(char).startswith("C"):
            visible += char
    line = " ".join(visible.split()).strip(QUOTES)
    return shorten(line.removesuffix("."), MAX_TITLE_CHARS)


def _is_prompt(message: ModelMessage) -> bool:
    return any(isinstance(part, UserPromptPart) for part in message.parts)


def _text_of(messages: list[ModelMessage]) -> str:
    """Return the newest text of the model; '' if there is none."""
    for message in reversed(messages):
        if not isinstance(message, ModelResponse):
            continue
        for part in message.parts:
            if isinstance(part, TextPart) and part.content.strip():
                return part.content
    return ""
