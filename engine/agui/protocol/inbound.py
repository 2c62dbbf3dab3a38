"""A client's messages as the model's, without what a client may not decide."""

import logging
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ag_ui.core import (
    Message,
    RunAgentInput,
    ToolMessage,
)
from django.utils.translation import gettext_lazy as _
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.ui.ag_ui import AGUIAdapter

from agui import conf
from agui.agents.model_history import is_blank
from agui.agents.skills import SkillRegistry
from agui.blocking.executor import run_in_thread
from agui.errors import Unprocessable
from agui.protocol.answers import READER
from agui.protocol.files import check_files
from agui.protocol.message_ids import MessageIds
from agui.stores.annotations import annotation

logger = logging.getLogger("agui.runs")

FEW_MESSAGES = 10
# Messages with these roles say how to lead the conversation, and are no part of it.
INSTRUCTING_ROLES = ("system", "developer")


def instructing(messages: Sequence[Message]) -> list[Message]:
    """List a client's system and developer messages."""
    return [message for message in messages if message.role in INSTRUCTING_ROLES]


def run_instructions(run_input: RunAgentInput, skills: SkillRegistry, text: str) -> list[str]:
    """List the instructions that the model gets in this run only.

    They are the client's, and the words of the skill that the user has typed as `/name`. The
    conversation keeps what was typed.
    """
    instructions = _client_instructions(run_input)
    words = skills.resolve(text)
    if words != text:
        instructions.append(words)
    return instructions


def _client_instructions(run_input: RunAgentInput) -> list[str]:
    """List a client's instructions, if the settings allow any."""
    messages = instructing(run_input.messages)
    if messages and conf.get().client_instructions == "drop":
        logger.info(
            "Dropping %d system or developer messages of the client from run %s: "
            "AGUI['CLIENT_INSTRUCTIONS'] = 'use' makes them instructions",
            len(messages),
            run_input.run_id,
        )
        return []
    return [str(message.content) for message in messages if message.content]


async def load(messages: Sequence[Message], run_input: RunAgentInput) -> list[ModelMessage]:
    """Load messages, in a thread if that may hold up the streams of others."""
    are_texts = all(isinstance(message.content, str) for message in messages)
    if are_texts and len(messages) <= FEW_MESSAGES:
        return _load_now(messages, run_input)
    return await run_in_thread(_load_now, messages, run_input, pool="reading")


def _load_now(messages: Sequence[Message], run_input: RunAgentInput) -> list[ModelMessage]:
    """Turn a client's messages into the model's, without what a client may not decide."""
    check_files(messages)
    try:
        messages = [message for message in map(_without_blanks, messages) if _is_read(message)]
        if not messages:
            return []
        schemes = frozenset(conf.get().allowed_file_url_schemes)
        reader = AGUIAdapter(READER, run_input, allowed_file_url_schemes=schemes)
        loaded = _one_prompt_each(reader.sanitize_messages(read(messages)))
    except ValueError:
        raise Unprocessable(
            "A message can't be read: a result without its call, or a broken file."
        ) from None
    if not loaded or not isinstance(loaded[-1], ModelRequest):
        raise Unprocessable("The last message must be one by the user.")
    MessageIds(messages).stamp(loaded)
    has_words = not all(isinstance(p, UserPromptPart) and is_blank(p) for p in loaded[-1].parts)
    # Uploaded files are named beside the words.
    if not has_words and not annotation(loaded[-1], "extras"):
        raise Unprocessable(_("The message is empty: write something, or attach a file."))
    return loaded


def _without_blanks(message: Message) -> Message:
    """Write a user's blank texts as no text: pydantic-ai would make nothing of the message."""
    content = message.content
    if message.role != "user" or not isinstance(content, list):
        return message
    if any(part.type != "text" or part.text.strip() for part in content):
        return message
    return message.model_copy(update={"content": ""})


def _is_read(message: Message) -> bool:
    """Whether pydantic-ai makes anything of a message.

    The id of one that it leaves out would go to the next one.
    """
    if message.role == "tool" or (message.role == "user" and isinstance(message.content, str)):
        return True
    return bool(AGUIAdapter.load_messages([message]))


def read(messages: Sequence[Message]) -> list[ModelMessage]:
    """Read messages as the adapter does, but keep the text of a tool's result.

    The adapter would parse the text as JSON, and what looks like a file of the server would be one.
    """
    texts: dict[str, deque[str]] = defaultdict(deque)
    plain = []
    for message in messages:
        content: Any = message.content
        if isinstance(message, ToolMessage):
            text = _result_of(message)
            if text is not None:
                texts[message.tool_call_id].append(text)
                content = ""
        if isinstance(content, list):
            content = list(map(_without_download, content))
        if content is not message.content:
            message = message.model_copy(update={"content": content})
        plain.append(message)
    loaded = AGUIAdapter.load_messages(plain)
    for request in loaded:
        for part in request.parts:
            if isinstance(part, ToolReturnPart) and texts[part.tool_call_id]:
                part.content = texts[part.tool_call_id].popleft()
    return loaded


def _without_download(part: Any) -> Any:
    """Drop the key that makes the server download a file, even from the server's own network."""
    metadata = getattr(part, "metadata", None)
    if not isinstance(metadata, dict) or "force_download" not in metadata:
        return part
    logger.info(
        "Dropping the client's force_download: the server's settings decide what is downloaded"
    )
    metadata = dict(metadata)
    del metadata["force_download"]
    return part.model_copy(update={"metadata": metadata})


def _one_prompt_each(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Separate the prompts that pydantic-ai has joined: a history may be cut before each one."""
    separate: list[ModelMessage] = []
    for message in messages:
        prompts = [part for part in message.parts if isinstance(part, UserPromptPart)]
        if not isinstance(message, ModelRequest) or not prompts or len(message.parts) == 1:
            separate.append(message)
            continue
        results = [part for part in message.parts if not isinstance(part, UserPromptPart)]
        if results:
            separate.append(replace(message, parts=results))
        for prompt in prompts:
            separate.append(replace(message, parts=[prompt]))
    return separate


def _result_of(message: ToolMessage) -> str | None:
    """Find the text that the model reads as a result: after a failure, why the tool has failed."""
    text = only_text(message.content)
    if not message.error or text is None or message.error in text:
        return text
    if text in ("", "null"):
        # Some clients send what a failed tool has returned: nothing, in JSON.
        return message.error
    return f"{text}\n{message.error}"


def only_text(content: Any) -> str | None:
    """Find the text of a content that holds nothing else."""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and len(content) == 1 and content[0].type == "text":
        text: str = content[0].text
        return text
    return None
