"""The tests' agent, and the admin beside it."""

from django.contrib import admin
from django.urls import path

from tests import urls

urlpatterns = [*urls.urlpatterns, path("admin/", admin.site.urls)]
