"""The pages."""

from csp.constants import NONE
from csp.decorators import csp_update
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

# With this, the browser refuses scripts that turn strings into HTML. The admin's own scripts do so,
# and therefore it applies to this page only.
TRUSTED_TYPES = {"require-trusted-types-for": ["'script'"], "trusted-types": [NONE]}


@login_required
@csp_update(TRUSTED_TYPES)
def chat(request: HttpRequest) -> HttpResponse:
    """The chat, as a page of its own."""
    return render(request, "assistant/chat.html")
