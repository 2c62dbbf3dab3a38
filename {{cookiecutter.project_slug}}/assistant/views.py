"""The pages."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


@login_required
def chat(request: HttpRequest) -> HttpResponse:
    """The chat, as a page of its own."""
    return render(request, "assistant/chat.html")
