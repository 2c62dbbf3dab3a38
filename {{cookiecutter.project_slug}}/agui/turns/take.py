"""What is new in this request: the client's word on the past counts for nothing.

A known thread's history is the store's, and of the request only the new turn is read. An unknown
thread that arrives with a history is taken over once, sanitised, without honouring an approval.
The new turn is stored before the run begins, so that however the run ends, it is there.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from pydantic_ai import DeferredToolResults
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart

from agui import conf, parts
from agui.actor import Actor
from agui.agents.config import AgentConfig
from agui.agents.model_files import without_unread
from agui.blocking.executor import run_in_thread
from agui.errors import Conflict, NotFound, RunFailed, Unprocessable
from agui.protocol.answers import read_answers
from agui.protocol.inbound import answer_deferred, load_aside, load_results
from agui.protocol.interrupts import frontend_calls
from agui.protocol.types import Message, RunAgentInput
from agui.stores.annotations import annotation, answered
from agui.stores.base import ThreadStore
from agui.stores.tree import Link, prompt_id
from agui.tools.registry import ToolRegistry
from agui.turns.turn import Turn, read_state, readable, up_to_a_prompt

# System and developer messages would be instructions, activities are the page's own.
TRUSTED_ROLES = ("user", "assistant", "tool", "reasoning")


async def take_turn(
    store: ThreadStore,
    actor: Actor,
    conversation: Conversation | None,
    run_input: RunAgentInput,
    registry: ToolRegistry,
    config: AgentConfig,
    begin: Callable[[str, str], None],
) -> Turn:
    """Find what is new, and store it, together with the note that a run begins.

    `conversation` is what `load_window` found of the thread; None for a new one. `begin` is called
    with the thread's revision and the client's id of the message that the run answers.

    Raises Unprocessable for messages or a state that can't be used, Conflict when another writer
    was faster, and RunFailed for an answer that fits no question.
    """
    if conversation is None:
        conversation = Conversation(conversation_id=run_input.thread_id)
        if run_input.resume:
            raise RunFailed("interrupt_unknown")
    waiting = conversation.deferred_tool_requests
    run_input = answer_deferred(run_input, conversation)
    # In a thread: what a client answers may be large, and is checked against a schema.
    answers = (
        await run_in_thread(read_answers, run_input, waiting, registry, pool="reading")
        if run_input.resume
        else read_answers(run_input, waiting, registry)
    )
    view, conversation, new = await _new_messages(store, actor, run_input, conversation)
    if answers is not None and not answered(new) >= frontend_calls(waiting).keys():
        raise RunFailed("interrupt_pending")
    unanswered = conversation.messages and isinstance(conversation.messages[-1], ModelRequest)
    if not new and answers is None and not unanswered:
        raise Unprocessable("There is nothing new in this request: send a message of the user.")
    state = read_state(run_input, conversation, config)
    notes = [
        await part.messages_arrived(new, run_input.thread_id, actor) for part in parts.installed()
    ]
    conversation.messages.extend(new)
    history = _shown(conversation.messages)
    # Whatever was asked is answered or dropped now: an answer counts once, even if the run then
    # dies.
    conversation.deferred_tool_requests = None

    def note(revision: str) -> None:
        begin(revision, next(filter(None, map(prompt_id, reversed(conversation.messages))), ""))
        if store.keeps_threads:
            for write in filter(None, notes):
                write()

    try:
        await view.save_with(conversation, note, scope=actor.scope)
    except ConversationConflict:
        raise Conflict("The conversation was changed meanwhile. Reload it.") from None
    return Turn(store, conversation, history, _last_text(history), state, answers)


async def continue_turn(
    store: ThreadStore,
    scope: str,
    run_input: RunAgentInput,
    config: AgentConfig,
    answers: DeferredToolResults | None,
    added: list[ModelMessage],
) -> Turn | None:
    """Find again what `take_turn` has stored, for a run that has `added` messages since; None if it is gone."""
    limit = conf.get().history_messages
    thread_id = run_input.thread_id
    conversation = await up_to_a_prompt(
        store, await store.load(thread_id, limit=limit, scope=scope), limit
    )
    if conversation is None:
        return None
    whole = replace(conversation, messages=[*conversation.messages, *added])
    if any(annotation(message, "state") is not None for message in added):
        # Tools have changed what the client sent
        run_input = run_input.model_copy(update={"state": None})
    state = read_state(run_input, whole, config)
    history = _shown(whole.messages)
    return Turn(
        store, conversation, history, _last_text(history), state, None if added else answers
    )


async def _known_prompts(
    store: ThreadStore, prompts: Sequence[Message], conversation: Conversation
) -> dict[str, Link]:
    """Find those of a request's new messages of the user that the thread has."""
    limit = conf.get().history_messages
    sent = {message.id for message in prompts}
    loaded = {prompt_id(message) for message in conversation.messages}
    is_whole = limit is None or len(conversation.messages) < limit
    if is_whole and not sent & loaded:
        return {}
    return await store.find_prompts(conversation.conversation_id, sent)


async def _new_messages(
    store: ThreadStore, actor: Actor, run_input: RunAgentInput, conversation: Conversation
) -> tuple[ThreadStore, Conversation, list[ModelMessage]]:
    """The messages to append, and the conversation to append them to: after an edit, one that ends before it."""
    messages = [message for message in run_input.messages if message.role in TRUSTED_ROLES]
    if conversation.revision is None:
        return store, conversation, await load_aside(messages, run_input)
    tail = messages[
        1 + max((i for i, m in enumerate(messages) if m.role == "assistant"), default=-1) :
    ]
    results = load_results(messages, conversation)
    if run_input.resume:
        return store, conversation, results
    prompts = [message for message in tail if message.role == "user"]
    known = await _known_prompts(store, prompts, conversation)
    if prompts and prompts[-1].id in known and not results:
        # The last one again: that turn is edited or tried anew.
        new = await load_aside(prompts[-1:], run_input)
        return *await _before(store, actor, conversation, known[prompts[-1].id]), new
    # Known ones before a new one are the client's memory, of answers that it may never have seen.
    fresh = [message for message in prompts if message.id not in known]
    return store, conversation, [*results, *await load_aside(fresh, run_input)]


async def _before(
    store: ThreadStore, actor: Actor, conversation: Conversation, prompt: Link
) -> tuple[ThreadStore, Conversation]:
    """The conversation as it was before a message. Until the new turn is saved, nothing is changed."""
    thread_id, limit = conversation.conversation_id, conf.get().history_messages
    try:
        view = await store.ending_at(
            thread_id, prompt.parent_id, expected_revision=conversation.revision, scope=actor.scope
        )
    except ConversationConflict:
        raise Conflict("The conversation was changed meanwhile. Reload it.") from None
    try:
        earlier = await up_to_a_prompt(
            view, await view.load(thread_id, limit=limit, scope=actor.scope), limit
        )
    except LookupError:  # Deleted at this very moment
        earlier = None
    if earlier is None:
        raise NotFound("There is no such thread.")
    return view, earlier


def _shown(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Take what the model reads of a thread, as it is to read it."""
    shown = without_unread(readable(messages))
    for part in parts.installed():
        shown = part.show(shown)
    return shown


def _last_text(messages: list[ModelMessage]) -> str:
    prompts = [
        part for message in messages for part in message.parts if isinstance(part, UserPromptPart)
    ]
    return prompts[-1].content if prompts and isinstance(prompts[-1].content, str) else ""
