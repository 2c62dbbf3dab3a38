"""Routes of the assistant: its page, and its endpoints under /agent/."""

from django.urls import path

from agui import get_urls
from assistant import views

urlpatterns = [
    path("", views.chat, name="chat"),
    # By its path: `manage.py migrate` need not wait for the agent
    *get_urls("assistant.agent.view"),
]
