"""The files that a model is sent, and those that it can't read.

Such a file is left out: the model reads a few words in its place, the user is told once, and no
later request tries it again. So one file never stops a conversation.
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from operator import is_
from traceback import walk_tb
from typing import Any, TypeVar

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ModelContextWindowExceededError, ModelHTTPError, UserError
from pydantic_ai.messages import (
    BaseToolReturnPart,
    BinaryContent,
    FileUrl,
    ModelMessage,
    ModelResponse,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from agui import conf
from agui.agents.file_addresses import download, is_handed_on, media_type_of
from agui.deps import AgentDeps
from agui.stores.annotations import annotation

logger = logging.getLogger("agui.runs")

R = TypeVar("R")
File = BinaryContent | FileUrl
Swap = Callable[[File], Any]

EVENT = "files_left_out"
UNREAD = "unread"
# With these a provider refuses what a request holds. 401 and 404, say, have other reasons.
REFUSALS = (400, 413, 415, 422)
# What pydantic-ai raises for a file that has no place in a provider's request.
NO_PLACE = (NotImplementedError, UserError, ValueError, RuntimeError, AssertionError)


def swap_files(messages: Sequence[ModelMessage], swap: Swap) -> list[ModelMessage]:
    """Put something else in the place of files, where `swap` does not answer the file itself."""
    return [_swapped(message, swap) for message in messages]


def _swapped(message: ModelMessage, swap: Swap) -> ModelMessage:
    if isinstance(message, ModelResponse):
        return message
    parts: list[Any] = list(message.parts)
    for index, part in enumerate(parts):
        items = _items(part)
        swapped = [swap(item) if isinstance(item, File) else item for item in items]
        if not all(map(is_, swapped, items)):
            is_single = items[0] is part.content
            parts[index] = replace(part, content=swapped[0] if is_single else swapped)
    return message if all(map(is_, parts, message.parts)) else replace(message, parts=parts)


def _items(part: Any) -> Sequence[Any]:
    """Where pydantic-ai looks for files: in a part's content, or in the list that it is."""
    if not isinstance(part, UserPromptPart | BaseToolReturnPart):
        return ()
    return part.content if isinstance(part.content, list | tuple) else [part.content]


def files_by_part(messages: Sequence[ModelMessage]) -> list[list[File]]:
    """The files of each part that has some, the newest first."""
    parts = [
        part
        for message in messages
        if not isinstance(message, ModelResponse)
        for part in message.parts
    ]
    found = (
        [item for item in reversed(_items(part)) if isinstance(item, File)]
        for part in reversed(parts)
    )
    return [files for files in found if files]


def without_unread(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Leave out the files of which an earlier run has noted that the model can't read them."""
    unread = {one for message in messages for one in annotation(message, UNREAD) or ()}
    if not unread:
        return messages
    return swap_files(messages, lambda file: words_for(file) if name_of(file) in unread else file)


def name_of(file: File) -> str:
    """What a file is remembered by: its type and a short hash of its content or address."""
    return f"{type_of(file)} {file.identifier}"


def type_of(file: File) -> str:
    return media_type_of(file) if isinstance(file, FileUrl) else file.media_type


def words_for(file: File) -> str:
    """What a model reads in the place of a file."""
    what = file.url if isinstance(file, FileUrl) else f"{len(file.data)} bytes"
    return f"[A file was here that you can't read: {type_of(file) or 'of an unknown type'}, {what}. Say so if it matters.]"


@dataclass
class SendReadableFiles(AbstractCapability[AgentDeps]):
    """Sends the files of a run that its model can read, and remembers the others."""

    left_out: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What a client is told of each file that was left out, by its `name_of`."""
    _downloads: dict[str, BinaryContent | None] = field(default_factory=dict)

    def get_wrapper_model(self, model: Model) -> Model:
        if isinstance(model, FallbackModel):
            # What one model of a chain can't read, the next one may.
            chain = copy(model)
            chain.models = [FilesModel(one, self) for one in model.models]
            return chain
        return FilesModel(model, self)

    def note(self, files: Sequence[File]) -> None:
        for file in files:
            known = {"url": file.url} if isinstance(file, FileUrl) else {"size": len(file.data)}
            self.left_out[name_of(file)] = {"mime": type_of(file), **known}

    async def readable(self, model: Model, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """The messages without addresses that the server would have to open, and without what was left out before."""
        files = [file for files in files_by_part(messages) for file in files]
        if not files:
            return list(messages)
        closed = [
            file for file in files if isinstance(file, FileUrl) and not is_handed_on(model, file)
        ]
        opened = {file.url: await self._download(file) for file in closed}
        self.note([file for file in closed if opened[file.url] is None])

        def swap(file: File) -> Any:
            if isinstance(file, FileUrl) and opened.get(file.url) is not None and file in closed:
                return opened[file.url]
            return words_for(file) if name_of(file) in self.left_out else file

        return swap_files(messages, swap)

    async def _download(self, file: FileUrl) -> BinaryContent | None:
        limits = conf.get().file_downloads
        if limits is None or name_of(file) in self.left_out:
            return None
        if file.url not in self._downloads:
            if len(self._downloads) >= limits.max_files:
                return None
            self._downloads[file.url] = await download(file, limits)
        return self._downloads[file.url]


class FilesModel(WrapperModel):
    """A model that is asked again without its files where it refuses a request for them."""

    def __init__(self, wrapped: Model, files: SendReadableFiles) -> None:
        super().__init__(wrapped)
        self.files = files

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> Any:
        return await self._send(
            messages, lambda m: self.wrapped.request(m, model_settings, model_request_parameters)
        )

    async def count_tokens(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> RequestUsage:
        request = model_settings, model_request_parameters
        return await self._send(messages, lambda m: self.wrapped.count_tokens(m, *request))

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        request = model_settings, model_request_parameters, run_context
        async with AsyncExitStack() as stack:
            yield await self._send(
                messages,
                lambda m: stack.enter_async_context(self.wrapped.request_stream(m, *request)),
            )

    async def _send(
        self, messages: list[ModelMessage], send: Callable[[list[ModelMessage]], Awaitable[R]]
    ) -> R:
        messages = await self.files.readable(self.wrapped, messages)
        try:
            return await send(messages)
        except Exception as error:
            if not is_refusal(error):
                raise
            for files in suspects(messages):
                try:
                    answer = await send(without(files, messages))
                except Exception as again:
                    if not is_refusal(again):
                        raise
                else:
                    logger.warning(
                        "The model refused a request, but not without %d files: %s",
                        len(files),
                        error,
                    )
                    self.files.note(files)
                    return answer
            raise


def without(files: Sequence[File], messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    out = {id(file) for file in files}
    return swap_files(messages, lambda file: words_for(file) if id(file) in out else file)


def is_refusal(error: Exception) -> bool:
    """Whether a file may be the reason for a failure."""
    if isinstance(error, ModelHTTPError):
        return error.status_code in REFUSALS
    if isinstance(error, ModelContextWindowExceededError):
        return True
    return isinstance(error, NO_PLACE) and _comes_from_pydantic_ai(error)


def _comes_from_pydantic_ai(error: Exception) -> bool:
    *_, (frame, _line) = walk_tb(error.__traceback__)
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] == "pydantic_ai"


def suspects(messages: Sequence[ModelMessage]) -> list[list[File]]:
    """Which files to leave out, in turn: those that came last, then all."""
    by_part = files_by_part(messages)
    everything = [file for files in by_part for file in files]
    return [*by_part[:1], everything] if len(by_part) > 1 else by_part
