"""Suggestions for the user's next message."""
