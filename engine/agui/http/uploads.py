"""The file of a form, and its limit."""

from django.core.exceptions import SuspiciousOperation
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest
from django.http.multipartparser import MultiPartParserError
from django.utils.translation import gettext_lazy as _

from agui.errors import BadRequest, TooLarge, UnsupportedMediaType
from agui.sentences import fill_lazy

# What a multipart body may hold next to the file: boundaries, headers, a CSRF token.
FORM_BYTES = 16 * 1024


def check_upload_length(request: HttpRequest, limit: int) -> None:
    """Refuse a form by its Content-Length.

    Raises BadRequest without one, because Django then finds no form in the body.
    """
    length = request.headers.get("Content-Length", "")
    if not length.isdecimal():
        raise BadRequest("Send a Content-Length.")
    _check_size(int(length) - FORM_BYTES, limit)


def read_upload(request: HttpRequest, limit: int) -> UploadedFile:
    """Read the one file of a multipart body. Django keeps a large file on disk, not in memory."""
    if request.content_type != "multipart/form-data":
        raise UnsupportedMediaType("Send multipart/form-data with a file in the field 'file'.")
    try:
        uploads = request.FILES.getlist("file")
    except (MultiPartParserError, SuspiciousOperation):
        raise BadRequest(_("The form could not be read.")) from None
    if len(uploads) != 1:
        raise BadRequest(f"Send one file in the field 'file', not {len(uploads)}.")
    upload = uploads[0]
    if not upload.size:
        raise BadRequest(_("The file is empty."))
    _check_size(upload.size, limit)
    return upload


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise TooLarge(
            fill_lazy(_("The file is too large: at most {limit} bytes."), limit=limit), limit=limit
        )
