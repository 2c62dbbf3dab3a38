"""The pages."""

from csp.constants import NONE
from csp.decorators import csp_update
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

# The browser holds the page to making nothing of strings. Not the whole site: the admin's own
# scripts do.
TRUSTED_TYPES = {"require-trusted-types-for": ["'script'"], "trusted-types": [NONE]}


@login_required
@csp_update(TRUSTED_TYPES)
def chat(request: HttpRequest) -> HttpResponse:
    """The chat, as a page of its own."""
    return render(request, "assistant/chat.html")
