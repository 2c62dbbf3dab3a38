"""Find the user of a request."""

from typing import Any

from django.http import HttpRequest

from agui.http.auth import session_user
from agui.http.tokens import token_user


async def get_user(request: HttpRequest) -> Any:
    """Find the user by API token (`Authorization: Bearer ...`), or by the browser's session.

    Return None if nobody is signed in. Raise `agui.errors.Unauthorized` for bad credentials.
    """
    return await token_user(request) or await session_user(request)
