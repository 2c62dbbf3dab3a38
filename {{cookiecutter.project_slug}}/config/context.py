"""Variables of every template."""

from django.conf import settings
from django.http import HttpRequest


def site(request: HttpRequest) -> dict[str, str]:
    # Don't call it site_name: Django's login view uses that for the name of the host.
    return {"project_name": settings.SITE_NAME}
