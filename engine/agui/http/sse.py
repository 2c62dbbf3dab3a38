"""Server-sent events: the response that follows a run."""

from collections.abc import AsyncIterable

from django.http import StreamingHttpResponse


def sse_response(frames: AsyncIterable[bytes]) -> StreamingHttpResponse:
    """Stream frames to a client, past every buffer and compressor on the way."""
    return StreamingHttpResponse(
        frames,
        content_type="text/event-stream",
        headers={
            "Cache-Control": "no-store, no-transform",
            "Content-Encoding": "identity",
            "X-Accel-Buffering": "no",
        },
    )
