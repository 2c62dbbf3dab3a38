"""Files that are named by an address: which a provider opens, and which the server may download.

If a provider takes no addresses, pydantic-ai downloads the file itself. A client may have chosen
the address, so the engine sends a model class only the addresses that it hands on to its provider.
With AGUI["ATTACHMENTS"]["DOWNLOADS"] the server downloads the others, within limits and never from
a private network.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from pydantic_ai import __version__ as VERSION
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import AudioUrl, BinaryContent, DocumentUrl, FileUrl, ImageUrl, VideoUrl
from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel

from agui.contrib.attachments.conf import FileDownloads

# The name is private: pydantic-ai has no public download that takes limits. `download_item` allows
# 50 MB a file and 500 MB a request. If it took limits, this import could go.
try:
    from pydantic_ai._ssrf import safe_download
except ImportError:
    safe_download = None  # type: ignore[assignment]

logger = logging.getLogger("agui.runs")

PDF = "application/pdf"
UNKNOWN_TYPE = "application/octet-stream"
# These headers don't say what a file is.
NO_TYPE = ("", UNKNOWN_TYPE, "binary/octet-stream")
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
    # The addresses of Google's Files API would show a client what others have uploaded with the
    # same key.
    return isinstance(file, VideoUrl) and file.is_youtube


# What each of pydantic-ai's model classes hands on. The classes are named, not imported: one may
# need a library that is not installed.
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
    # The models for tests call no provider.
    "FunctionModel": lambda model, file: True,
    "TestModel": lambda model, file: True,
}


def is_handed_on(model: Model, file: FileUrl) -> bool:
    """Whether the provider opens this address, and not the server.

    Only the project's own code can set `force_download`, so it is respected. A model class of your
    own declares with `hands_on_addresses = True` that it downloads nothing.
    """
    if file.force_download:
        return True
    if isinstance(model, WrapperModel):
        return is_handed_on(model.wrapped, file)
    if isinstance(model, FallbackModel):
        return all(is_handed_on(member, file) for member in model.models)
    if getattr(model, "hands_on_addresses", False):
        return True
    for kind in type(model).__mro__:
        if kind.__name__ in HANDED_ON:
            return HANDED_ON[kind.__name__](model, file)
    return False


def media_type_of(file: FileUrl) -> str:
    """Find the media type that was sent, or that the address implies; '' if it is unknown."""
    try:
        return file.media_type
    except ValueError:
        return ""


async def download(file: FileUrl, limits: FileDownloads) -> BinaryContent | None:
    """Download a file; None if that is impossible or not allowed.

    The address, and each redirect, must use http or https and must not lead to a private network.
    """
    if safe_download is None:
        logger.error(
            'Not downloading files: AGUI["ATTACHMENTS"]["DOWNLOADS"] needs safe_download, and '
            "pydantic-ai %s has none",
            VERSION,
        )
        return None
    try:
        async with asyncio.timeout(limits.timeout_seconds):
            response = await safe_download(
                file.url, max_redirects=MAX_REDIRECTS, max_bytes=limits.max_bytes
            )
    except Exception as error:
        if not isinstance(error, ValueError | UserError | OSError) and not is_http_error(error):
            raise
        logger.warning("Downloading a file failed: %s: %s", type(error).__name__, error)
        return None
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type in NO_TYPE:
        media_type = media_type_of(file) or UNKNOWN_TYPE
    return BinaryContent(response.content, media_type=media_type)


def is_http_error(error: Exception) -> bool:
    """Whether pydantic-ai's HTTP library raised this, under either of its names."""
    packages = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    return not packages.isdisjoint({"httpx", "httpx2"})
