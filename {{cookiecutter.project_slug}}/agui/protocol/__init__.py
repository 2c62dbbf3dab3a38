"""What a client says, in pydantic-ai's terms, and the other way round."""
