"""What a conversation leaves outside its store."""

from agui import parts
from agui.models import Run


def delete_traces(conversation_id: str, scope: str) -> None:
    """Delete a conversation's runs, and what the parts keep of it. The audit trail is not the user's to delete."""
    Run.objects.filter(thread_id=conversation_id, scope=scope).delete()
    for part in parts.installed():
        part.thread_deleted(conversation_id, scope)
