"""The files that a language model is sent, and those that it can't read.

An unreadable file is left out: the model reads a few words in its place, the user is told once, and
no later request sends it again. So a file never stops a conversation.
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import is_
from traceback import walk_tb
from typing import Any, TypeVar

from pydantic_ai import RunContext
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
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from agui import conf
from agui.contrib.attachments.conf import AttachmentsSettings
from agui.contrib.attachments.file_addresses import download, is_handed_on, media_type_of
from agui.contrib.attachments.images_in_history import ImagesInHistory
from agui.stores.annotations import annotation

logger = logging.getLogger("agui.runs")

R = TypeVar("R")
File = BinaryContent | FileUrl
Swap = Callable[[File], Any]

EVENT = "files_left_out"
UNREAD = "unread"
# With these statuses a provider refuses the content of a request. 401 and 404 have other reasons.
REFUSALS = (400, 413, 415, 422)
# What pydantic-ai raises for a file that has no place in a provider's request.
NO_PLACE = (NotImplementedError, UserError, ValueError, RuntimeError, AssertionError)


def swap_files(messages: Sequence[ModelMessage], swap: Swap) -> list[ModelMessage]:
    """Replace files with what `swap` returns for them. It returns a file itself to keep it."""
    return [_swapped(message, swap) for message in messages]


def _swapped(message: ModelMessage, swap: Swap) -> ModelMessage:
    if isinstance(message, ModelResponse):
        return message
    parts: list[Any] = [_swapped_part(part, swap) for part in message.parts]
    if all(map(is_, parts, message.parts)):
        return message
    return replace(message, parts=parts)


def _swapped_part(part: Any, swap: Swap) -> Any:
    items = _items(part)
    swapped = list(items)
    for index, item in enumerate(items):
        if isinstance(item, File):
            swapped[index] = swap(item)
    if all(map(is_, swapped, items)):
        return part
    if items is part.content:
        return replace(part, content=swapped)
    return replace(part, content=swapped[0])


def _items(part: Any) -> Sequence[Any]:
    """List the contents of a part among which pydantic-ai looks for files."""
    if not isinstance(part, UserPromptPart | BaseToolReturnPart):
        return ()
    if isinstance(part.content, list | tuple):
        return part.content
    return [part.content]


def files_by_part(messages: Sequence[ModelMessage]) -> list[list[File]]:
    """List the files of each part that has files, the newest first."""
    by_part = []
    for message in reversed(messages):
        if isinstance(message, ModelResponse):
            continue
        for part in reversed(message.parts):
            files = [item for item in reversed(_items(part)) if isinstance(item, File)]
            if files:
                by_part.append(files)
    return by_part


def without_unread(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Leave out the files that the model of an earlier run could not read."""
    unread: set[str] = set()
    for message in messages:
        unread.update(annotation(message, UNREAD) or ())
    if not unread:
        return messages
    return swap_files(messages, lambda file: words_for(file) if name_of(file) in unread else file)


def name_of(file: File) -> str:
    """Name a file by its type and a short hash of its content or address."""
    return f"{type_of(file)} {file.identifier}"


def type_of(file: File) -> str:
    if isinstance(file, FileUrl):
        return media_type_of(file)
    return file.media_type


def words_for(file: File) -> str:
    """Describe a file to a model that can't read it."""
    media_type = type_of(file) or "of an unknown type"
    what = file.url if isinstance(file, FileUrl) else f"{len(file.data)} bytes"
    return f"[A file was here that you can't read: {media_type}, {what}. Say so if it matters.]"


@dataclass
class ReadableFiles:
    """The files of a run that its model can read. The others are remembered."""

    left_out: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The words for a client about each file that was left out, by its `name_of`."""
    _downloads: dict[str, BinaryContent | None] = field(default_factory=dict)

    def leave_out(self, files: Iterable[File]) -> None:
        for file in files:
            told: dict[str, Any] = {"mime": type_of(file)}
            if isinstance(file, FileUrl):
                told["url"] = file.url
            else:
                told["size"] = len(file.data)
            self.left_out[name_of(file)] = told

    async def readable(self, model: Model, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """Replace the files that the model can't read, and the addresses that it can't open."""
        files = list(chain.from_iterable(files_by_part(messages)))
        if not files:
            return list(messages)
        closed: list[FileUrl] = []
        downloads: dict[str, BinaryContent] = {}
        for file in files:
            if isinstance(file, FileUrl) and not is_handed_on(model, file):
                closed.append(file)
                content = await self._download(file)
                if content is not None:
                    downloads[file.url] = content
        self.leave_out(file for file in closed if file.url not in downloads)

        def swap(file: File) -> Any:
            if isinstance(file, FileUrl) and file.url in downloads and file in closed:
                return downloads[file.url]
            if name_of(file) in self.left_out:
                return words_for(file)
            return file

        return swap_files(messages, swap)

    async def _download(self, file: FileUrl) -> BinaryContent | None:
        limits = conf.part(AttachmentsSettings).downloads
        if limits is None or name_of(file) in self.left_out:
            return None
        if file.url not in self._downloads:
            if len(self._downloads) >= limits.max_files:
                return None
            self._downloads[file.url] = await download(file, limits)
        return self._downloads[file.url]


class FilesModel(WrapperModel):
    """A model that is asked again without files if it refuses a request because of them."""

    def __init__(self, wrapped: Model, files: ReadableFiles, images: ImagesInHistory) -> None:
        super().__init__(wrapped)
        self.files = files
        self.images = images

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> Any:
        request = model_settings, model_request_parameters
        return await self._send(messages, lambda m: self.wrapped.request(m, *request))

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
            response = await self._send(
                messages,
                lambda m: stack.enter_async_context(self.wrapped.request_stream(m, *request)),
            )
            yield response

    async def _send(
        self, messages: list[ModelMessage], send: Callable[[list[ModelMessage]], Awaitable[R]]
    ) -> R:
        messages = await self.images.filled(messages)
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
                        "%s refused a request, and accepted it without %d files: %s",
                        self.model_name,
                        len(files),
                        error,
                    )
                    self.files.leave_out(files)
                    return answer
            raise


def without(files: Sequence[File], messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Replace these files with words, and no equal ones."""
    out = set(map(id, files))
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
    """List which files to leave out, in turn: those that came last, then all."""
    by_part = files_by_part(messages)
    if len(by_part) < 2:
        return by_part
    return [by_part[0], list(chain.from_iterable(by_part))]
