"""Forms with files whose names stay as users see them."""

import html
import re
from typing import Any

from django.http import HttpRequest
from django.http.multipartparser import MultiPartParser

# Django drops what is not printable. These join emoji, and letters of Persian and Indic scripts.
JOINERS = {"\u200c", "\u200d", *map(chr, range(0xE0020, 0xE0080))}


class FormParser(MultiPartParser):
    def sanitize_file_name(self, file_name: str) -> str | None:
        # Browsers escape quotes and ends of lines so:
        # https://html.spec.whatwg.org/#multipart-form-data
        whole = re.sub("(?:%0D|%0A)+", " ", html.unescape(file_name).replace("%22", '"'))
        name = re.split(r"[/\\]", whole)[-1]
        name = "".join(char for char in name if char.isprintable() or char in JOINERS)
        return None if name in ("", ".", "..") else name


def keep_names(request: HttpRequest) -> None:
    """Let a request read its form with this parser. The check of the CSRF token reads it, too."""

    def parse(meta: Any, post_data: Any) -> Any:
        return FormParser(meta, post_data, request.upload_handlers, request.encoding).parse()

    request.parse_file_upload = parse  # type: ignore[method-assign, assignment]
