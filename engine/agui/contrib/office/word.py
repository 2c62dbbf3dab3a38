"""Documents of Word."""

from io import BytesIO
from typing import Any

import mammoth

from agui.contrib.office.html_text import markdown_of

STYLES = "comment-reference => sup"


def read(data: bytes, media_type: str) -> str:
    document = mammoth.convert_to_html(
        BytesIO(data), convert_image=mammoth.images.img_element(_no_source), style_map=STYLES
    )
    return markdown_of(document.value)


def _no_source(image: Any) -> dict[str, str]:
    """Open no image: its description is enough, and it may be at an address."""
    return {"src": ""}
