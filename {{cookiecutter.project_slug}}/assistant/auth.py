"""Whose request is this?"""

from typing import Any

from django.http import HttpRequest

from agui.http.auth import session_user
from agui.http.tokens import token_user


async def get_user(request: HttpRequest) -> Any:
    """Find the user by API token (`Authorization: Bearer ...`), else by the browser's session.

    Answer None for nobody. Raise `agui.errors.Unauthorized` for credentials that are bad.
    """
    return await token_user(request) or await session_user(request)
