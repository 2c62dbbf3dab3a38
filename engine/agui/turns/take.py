"""Take the new turn of a request. The client's word about the past counts for nothing.

The history of a known thread comes from the store, and the server reads only the new turn of the
request. If an unknown thread arrives with a history, the server stores it once, sanitised and
without any approval. It stores the new turn before the run begins, so that the turn stays, however
the run ends.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext_lazy as _
from pydantic_ai import DeferredToolResults
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict
from pydantic_ai.messages import ModelMessage, ModelRequest, TextContent, UserPromptPart

from agui import conf, parts
from agui.actor import Actor
from agui.agents.config import AgentConfig
from agui.errors import Conflict, NotFound, Unprocessable
from agui.protocol.files import without_bytes
from agui.protocol.inbound import load
from agui.protocol.new_turn import NewTurn, read_turn
from agui.protocol.types import Message, RunAgentInput
from agui.stores.annotations import annotation
from agui.stores.base import ThreadStore
from agui.stores.tree import Link, prompt_id, results_beside
from agui.tools.registry import ToolRegistry
from agui.turns.turn import Turn, read_state, readable, up_to_a_prompt

# How many of the user's messages before a new one tell where in the thread a client is.
MAX_SHOWN = 100


async def take_turn(
    store: ThreadStore,
    actor: Actor,
    conversation: Conversation | None,
    run_input: RunAgentInput,
    registry: ToolRegistry,
    config: AgentConfig,
    begin: Callable[[str, str], None],
) -> Turn:
    """Find what is new, and store it in one step with the row of the run.

    `conversation` is what `load_window` has loaded; None for a new thread. `begin` writes the row
    of the run. It is called with the thread's revision and the client's id of the message that the
    run answers.

    Raises Unprocessable for messages or a state that can't be used, Conflict if another writer was
    faster, and RunFailed for an answer that fits no question.
    """
    if conversation is None:
        conversation = Conversation(conversation_id=run_input.thread_id)
    sent = await read_turn(run_input, conversation, registry)
    view, conversation, new = await _new_messages(store, actor, run_input, conversation, sent)
    unanswered = conversation.messages and isinstance(conversation.messages[-1], ModelRequest)
    if not new and sent.answers is None and not unanswered:
        raise Unprocessable("This request has nothing new: send a message by the user.")
    state = read_state(run_input, conversation, config)
    part_writes = [
        await part.messages_arrived(new, run_input.thread_id, actor) for part in parts.installed()
    ]
    conversation.messages.extend(new)
    history = _readable_history(conversation.messages)
    # The questions are answered or dropped by now. An answer counts once, even if the run dies.
    conversation.deferred_tool_requests = None

    def record_turn(revision: str) -> None:
        begin(revision, _last_prompt_id(conversation.messages))
        for write in part_writes:
            if write and store.keeps_threads:
                write()

    try:
        await view.save_with(conversation, record_turn, scope=actor.scope)
    except ConversationConflict:
        raise Conflict(_("The conversation was changed meanwhile. Reload it.")) from None
    return Turn(store, conversation, history, _last_text(history), state, sent.answers)


async def continue_turn(
    store: ThreadStore,
    scope: str,
    run_input: RunAgentInput,
    config: AgentConfig,
    answers: DeferredToolResults | None,
    added: list[ModelMessage],
) -> Turn | None:
    """Load the turn that `take_turn` has stored, for a run that has `added` messages since.

    Returns None if the thread was deleted.
    """
    limit = conf.get().history_messages
    loaded = await store.load(run_input.thread_id, limit=limit, scope=scope)
    conversation = await up_to_a_prompt(store, loaded, limit)
    if conversation is None:
        return None
    whole = replace(conversation, messages=[*conversation.messages, *added])
    if any(annotation(message, "state") is not None for message in added):
        # Tools have changed the state that the client sent.
        run_input = run_input.model_copy(update={"state": None})
    state = read_state(run_input, whole, config)
    history = _readable_history(whole.messages)
    if added:
        answers = None
    return Turn(store, conversation, history, _last_text(history), state, answers)


async def _known_prompts(
    store: ThreadStore, prompts: Sequence[Message], conversation: Conversation
) -> dict[str, Link]:
    """Find the user's messages of a request that the thread already has, by the client's ids."""
    limit = conf.get().history_messages
    sent = {message.id for message in prompts}
    loaded = {prompt_id(message) for message in conversation.messages}
    is_whole = limit is None or len(conversation.messages) < limit
    if is_whole and not sent & loaded:
        return {}
    return await store.find_prompts(conversation.conversation_id, sent)


async def _new_messages(
    store: ThreadStore,
    actor: Actor,
    run_input: RunAgentInput,
    conversation: Conversation,
    sent: NewTurn,
) -> tuple[ThreadStore, Conversation, list[ModelMessage]]:
    """Find the messages to append, and the store and conversation to append them to.

    After an edit, the conversation ends before the edited message.
    """
    if conversation.revision is None:
        return store, conversation, await load(sent.messages, run_input)
    known = await _known_prompts(store, sent.prompts, conversation)
    # If the last message is new, the known ones before it are turns whose answers the client may
    # never have seen.
    fresh = [message for message in sent.prompts if message.id not in known]
    edited = None
    if sent.answers is not None or sent.results:
        # What the user says beside their answers follows the results of the calls.
        pass
    elif fresh:
        edited = await _left_out(store, conversation, sent.messages, fresh[0])
    elif sent.prompts:
        # The client sends a known message last to edit it, or to get another answer.
        fresh = sent.prompts[-1:]
        edited = known[fresh[0].id]
    kept: list[ModelMessage] = []
    if edited:
        # Questions that came with the message stay answered: what a tool has done is done.
        kept = results_beside(conversation.messages, edited.prompt_id)
        store, conversation = await _cut_before(store, actor, conversation, edited)
    return store, conversation, [*sent.results, *await load(fresh, run_input), *kept]


async def _left_out(
    store: ThreadStore, conversation: Conversation, messages: Sequence[Message], new: Message
) -> Link | None:
    """Find the stored message of the user that follows those which a client shows before a new one.

    The client leaves it out if the new message is an edit of it under an id of its own. A client
    that shows something after it does not know it: the message was sent while the agent worked.
    """
    shown: deque[str] = deque(maxlen=MAX_SHOWN)
    others: set[str] = set()
    for message in messages:
        if message is new:
            break
        if message.role == "user":
            shown.append(message.id)
        else:
            others.add(message.id)
    loaded = [prompt_id(message) for message in conversation.messages]
    last = next(filter(None, reversed(loaded)), None)
    if not shown or last in shown:
        return None
    prompts = await store.find_prompts(conversation.conversation_id, shown)
    if not prompts:
        return None
    edited = await store.find_prompt_after(conversation.conversation_id, prompts)
    if edited and not others.isdisjoint(_ids_after(conversation.messages, edited.prompt_id)):
        return None
    return edited


def _ids_after(messages: Sequence[ModelMessage], message_id: str) -> set[str]:
    """Collect the clients' ids of the messages that a client shows after one of the user."""
    places = (place for place, message in enumerate(messages) if prompt_id(message) == message_id)
    following = messages[next(places, len(messages)) + 1 :]
    # Results beside a message follow it here, and come before it in a client.
    return _ids_of(following) - _ids_of(results_beside(messages, message_id))


def _ids_of(messages: Sequence[ModelMessage]) -> set[str]:
    return {id_ for message in messages for id_ in annotation(message, "ids") or ()}


async def _cut_before(
    store: ThreadStore, actor: Actor, conversation: Conversation, prompt: Link
) -> tuple[ThreadStore, Conversation]:
    """Load the conversation as it was before a message. The save of the new turn changes it."""
    thread_id, limit = conversation.conversation_id, conf.get().history_messages
    try:
        view = await store.ending_at(
            thread_id, prompt.parent_id, expected_revision=conversation.revision, scope=actor.scope
        )
    except ConversationConflict:
        raise Conflict(_("The conversation was changed meanwhile. Reload it.")) from None
    try:
        loaded = await view.load(thread_id, limit=limit, scope=actor.scope)
        earlier = await up_to_a_prompt(view, loaded, limit)
    except LookupError:  # Another request is deleting the thread.
        earlier = None
    if earlier is None:
        raise NotFound(_("There is no such thread."))
    return view, earlier


def _readable_history(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Select the messages that the model reads, in the form in which it reads them."""
    return for_the_model(readable(messages))


def for_the_model(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Bring messages into the form in which the model reads them."""
    if not parts.take_files():
        messages = without_bytes(messages)
    for part in parts.installed():
        messages = part.prepare_history(messages)
    return messages


def _last_prompt_id(messages: Sequence[ModelMessage]) -> str:
    for message in reversed(messages):
        message_id = prompt_id(message)
        if message_id:
            return message_id
    return ""


def _last_text(messages: Sequence[ModelMessage]) -> str:
    """Find the text that the user wrote last; '' if the last prompt is more than a text."""
    for message in reversed(messages):
        for part in reversed(message.parts):
            if isinstance(part, UserPromptPart):
                return _only_text(part.content)
    return ""


def _only_text(content: str | Sequence[Any]) -> str:
    if isinstance(content, str):
        return content
    only = content[0] if len(content) == 1 else None
    if isinstance(only, TextContent):
        return only.content
    return only if isinstance(only, str) else ""
