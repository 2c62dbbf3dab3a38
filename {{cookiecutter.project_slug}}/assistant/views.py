"""The pages."""

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


@login_required
def chat(request: HttpRequest) -> HttpResponse:
    """The chat, as a page of its own."""
    installed = (settings.BASE_DIR / "node_modules" / "marked").is_dir()
    return render(request, "assistant/chat.html", {"markdown": installed})
