"""What a conversation leaves outside its store."""

from agui import parts
from agui.contrib.attachments.references import delete_unused
from agui.models import Run


def delete_traces(conversation_id: str, scope: str) -> None:
    """Delete a conversation's runs, and the files that only it needs. The audit trail is not the user's to delete."""
    Run.objects.filter(thread_id=conversation_id, scope=scope).delete()
    delete_unused(conversation_id, scope)
    for part in parts.installed():
        part.thread_deleted(conversation_id, scope)
