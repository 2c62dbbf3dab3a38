"""Conversations in the user's session."""
