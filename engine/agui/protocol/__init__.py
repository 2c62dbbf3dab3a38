"""Translate a client's words to pydantic-ai's terms, and the other way round."""
