"""What patches Django, asgiref and pydantic-ai, or goes around them, for speed."""
