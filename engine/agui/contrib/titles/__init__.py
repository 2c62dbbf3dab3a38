"""Titles of conversations, made by a model after the first answer."""
