"""Routes of the assistant: its page, and its endpoints under agent/."""

from django.urls import path

from agui import get_urls
from assistant import views

urlpatterns = [
    path("", views.chat, name="assistant"),
    # The path is a string, so `manage.py migrate` need not wait for the import of the agent.
    *get_urls("assistant.agent.view"),
]
