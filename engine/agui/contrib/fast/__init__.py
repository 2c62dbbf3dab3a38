"""Django, asgiref and pydantic-ai, patched and gone around for speed.

Nothing depends on it: without this part every request, run and row takes the usual way, with the
same result. Each module is one piece, guarded (guard.py): a library that has changed keeps its own
way, and the log says so.
"""
