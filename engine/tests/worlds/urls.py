"""Two agents and the admin."""

from django.contrib import admin
from django.urls import path

from agui import get_urls
from agui.server.health import healthz
from tests.way import keeper

view = keeper()
urlpatterns = [
    *get_urls(view),
    *get_urls(view, "second/", namespace="second"),
    path("admin/", admin.site.urls),
    path("healthz", healthz),
]
