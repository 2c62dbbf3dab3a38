"""Routes of the assistant: its page, and its endpoints under /agent/."""

from django.urls import path

from agui import get_urls
from assistant import views
from assistant.agent import view

urlpatterns = [
    path("", views.chat, name="chat"),
    *get_urls(view),
]
