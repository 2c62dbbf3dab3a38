"""Conversations, runs, tool calls and tokens in Django's admin."""
