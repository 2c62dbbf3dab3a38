"""Routes of the project."""

from django.conf import settings
from django.contrib import admin
from django.urls import include, path

from agui.server.health import healthz, livez

admin.site.site_header = admin.site.site_title = settings.SITE_NAME

urlpatterns = [
    path("", include("assistant.urls")),
    path("accounts/", include("django.contrib.auth.urls")),
    path("admin/", admin.site.urls),
    path("i18n/", include("django.conf.urls.i18n")),  # The menu of languages posts to this.
    path("healthz", healthz, name="healthz"),
    path("livez", livez, name="livez"),
]
