"""The conversations with the agent."""

from agui import AbstractConversation


class Conversation(AbstractConversation):
    """A user's conversation with an agent. Add fields that your site needs."""
