"""Uploads for tests of tools that read them."""

from django.core.files.uploadedfile import SimpleUploadedFile
from pydantic_ai import RunContext

from agui.actor import Actor
from agui.contrib.attachments.files import keep_upload
from agui.deps import AgentDeps


def attach(ctx: RunContext[AgentDeps], name: str, data: bytes) -> str:
    """Store a file of the user's, as if the conversation named it. Return its id.

        ctx = as_user(ada)
        attach(ctx, "prices.csv", b"price\\n2.5\\n")
        assert registry.call("add_up", {"column": "price"}, ctx=ctx) == "2.50"

    Raises UnknownKind and TooLarge as an upload does. The file stays in MEDIA_ROOT: let it be a
    temporary folder of the test.
    """
    upload = SimpleUploadedFile(name, data)
    attachment = keep_upload(upload, Actor(ctx.deps.user, ctx.deps.scope))
    row = {"id": str(attachment.pk), "name": name, "media_type": attachment.media_type}
    ctx.deps.attachments.append({**row, "size": attachment.size})
    return row["id"]
