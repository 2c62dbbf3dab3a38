"""The width and the height of an image, from its first bytes: a page keeps the place free."""

from collections.abc import Callable

# The markers of a JPEG whose segment has the size: the beginnings of a frame.
FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
# These markers have no segment.
ALONE = {0x01, *range(0xD0, 0xDA)}
# A JPEG has fewer markers than this before its size. More are no image, but work for the server.
MAX_MARKERS = 1000


def size_of(data: bytes, media_type: str) -> tuple[int, int] | None:
    """Return width and height in pixels; None if the image does not tell them."""
    read = READERS.get(media_type)
    try:
        size = read(data) if read else None
    except IndexError:
        return None
    return size if size and all(size) else None


def _png(data: bytes) -> tuple[int, int]:
    return _big(data, 16, 4), _big(data, 20, 4)


def _gif(data: bytes) -> tuple[int, int]:
    return _little(data, 6, 2), _little(data, 8, 2)


def _webp(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    if kind == b"VP8X":
        return _little(data, 24, 3) + 1, _little(data, 27, 3) + 1
    if kind == b"VP8 ":
        return _little(data, 26, 2) & 0x3FFF, _little(data, 28, 2) & 0x3FFF
    if kind == b"VP8L":
        bits = _little(data, 21, 4)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    for _ in range(MAX_MARKERS):
        if data[at] != 0xFF:
            break
        marker = data[at + 1]
        if marker in FRAMES:
            return _big(data, at + 7, 2), _big(data, at + 5, 2)
        if marker == 0xFF:
            at += 1  # Padding
        elif marker in ALONE:
            at += 2
        else:
            at += 2 + _big(data, at + 2, 2)
    return None


def _big(data: bytes, at: int, length: int) -> int:
    return int.from_bytes(_piece(data, at, length), "big")


def _little(data: bytes, at: int, length: int) -> int:
    return int.from_bytes(_piece(data, at, length), "little")


def _piece(data: bytes, at: int, length: int) -> bytes:
    if at + length > len(data):
        raise IndexError(at)
    return data[at : at + length]


READERS: dict[str, Callable[[bytes], tuple[int, int] | None]] = {
    "image/png": _png,
    "image/gif": _gif,
    "image/webp": _webp,
    "image/jpeg": _jpeg,
}
