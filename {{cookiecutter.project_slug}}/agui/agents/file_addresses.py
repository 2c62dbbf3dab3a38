"""Files that are named by an address: what a provider opens itself, and what the server may
download.

Where a provider takes no addresses, pydantic-ai downloads the file itself. An address may be a
client's, so the engine sends each model class only those that the class hands on to its provider.
With AGUI["FILE_DOWNLOADS"] the server downloads the others, within limits and never from a private
network.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import AudioUrl, BinaryContent, DocumentUrl, FileUrl, ImageUrl, VideoUrl
from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel

from agui.conf_sections import FileDownloads

# The name is private: pydantic-ai has no public download with limits of our own. `download_item`
# allows 50 MB a file and 500 MB a request. With such limits there, this import could go.
try:
    from pydantic_ai._ssrf import safe_download
except ImportError:
    safe_download = None  # type: ignore[assignment]

logger = logging.getLogger("agui.runs")

PDF = "application/pdf"
NO_TYPE = ("", "application/octet-stream", "binary/octet-stream")
MAX_REDIRECTS = 5


def _is_image(model: Model, file: FileUrl) -> bool:
    return isinstance(file, ImageUrl)


def _is_image_or_pdf(model: Model, file: FileUrl) -> bool:
    return isinstance(file, ImageUrl) or (
        isinstance(file, DocumentUrl) and media_type_of(file) == PDF
    )


def _opens_in_openai_chat(model: Model, file: FileUrl) -> bool:
    takes_documents = bool(model.profile.get("openai_chat_supports_file_urls"))
    return isinstance(file, ImageUrl) or (isinstance(file, DocumentUrl) and takes_documents)


def _opens_in_openrouter(model: Model, file: FileUrl) -> bool:
    return isinstance(file, VideoUrl) or _opens_in_openai_chat(model, file)


def _opens_in_google(model: Model, file: FileUrl) -> bool:
    # Not the addresses of Google's Files API: they would show a client what others have uploaded
    # with the same key.
    return isinstance(file, VideoUrl) and file.is_youtube


# What each of pydantic-ai's model classes hands on, by its name: a class may need a library that is
# not installed.
HANDED_ON: dict[str, Callable[[Any, FileUrl], bool]] = {
    "OpenAIResponsesModel": lambda model, file: isinstance(file, ImageUrl | AudioUrl | DocumentUrl),
    "OpenRouterModel": _opens_in_openrouter,
    "OpenAIChatModel": _opens_in_openai_chat,
    "AnthropicModel": _is_image_or_pdf,
    "GoogleModel": _opens_in_google,
    "MistralModel": _is_image_or_pdf,
    "GroqModel": _is_image,
    "XaiModel": _is_image,
    "HuggingFaceModel": _is_image,
    "BedrockConverseModel": lambda model, file: file.url.startswith("s3://"),
    # These call no provider.
    "FunctionModel": lambda model, file: True,
    "TestModel": lambda model, file: True,
}


def is_handed_on(model: Model, file: FileUrl) -> bool:
    """Whether the provider opens this address, and not the server.

    `force_download` is only ever set by the project's own code: what it orders is done. A model
    class of your own says with `hands_on_addresses = True` that it downloads nothing.
    """
    if file.force_download:
        return True
    if isinstance(model, WrapperModel):
        return is_handed_on(model.wrapped, file)
    if isinstance(model, FallbackModel):
        return all(is_handed_on(one, file) for one in model.models)
    if getattr(model, "hands_on_addresses", False):
        return True
    rules = (HANDED_ON[kind.__name__] for kind in type(model).__mro__ if kind.__name__ in HANDED_ON)
    rule = next(rules, None)
    return rule is not None and rule(model, file)


def media_type_of(file: FileUrl) -> str:
    """The media type that was sent or that the address has; '' if nobody knows."""
    try:
        return file.media_type
    except ValueError:
        return ""


async def download(file: FileUrl, limits: FileDownloads) -> BinaryContent | None:
    """Download a file; None if that is not possible or not allowed.

    Each address on the way, those of redirects too, has to be http or https and on no private
    network.
    """
    if safe_download is None:
        logger.error(
            'This pydantic-ai has no safe_download: AGUI["FILE_DOWNLOADS"] downloads nothing.'
        )
        return None
    try:
        async with asyncio.timeout(limits.timeout_seconds):
            response = await safe_download(
                file.url, max_redirects=MAX_REDIRECTS, max_bytes=limits.max_bytes
            )
    except (ValueError, UserError, OSError) as error:
        logger.warning("A file was not downloaded: %s: %s", type(error).__name__, error)
        return None
    except Exception as error:
        if not is_http_error(error):
            raise
        logger.warning("A file was not downloaded: %s: %s", type(error).__name__, error)
        return None
    sent_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    media_type = media_type_of(file) if sent_type in NO_TYPE else sent_type
    return BinaryContent(response.content, media_type=media_type or NO_TYPE[1])


def is_http_error(error: Exception) -> bool:
    """Whether an HTTP library raised this: pydantic-ai's own one, under whichever name it has it."""
    return any(
        kind.__module__.partition(".")[0] in ("httpx", "httpx2") for kind in type(error).__mro__
    )
