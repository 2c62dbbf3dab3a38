"""Routes of the project."""

from django.contrib import admin
from django.urls import include, path

from config.health import healthz, livez

urlpatterns = [
    path("", include("assistant.urls")),
    path("accounts/", include("django.contrib.auth.urls")),
    path("admin/", admin.site.urls),
    path("healthz", healthz, name="healthz"),
    path("livez", livez, name="livez"),
]
