"""What every template knows."""

from django.conf import settings
from django.http import HttpRequest


def site(request: HttpRequest) -> dict[str, str]:
    # Not site_name: Django's login view has that for the name of the host.
    return {"project_name": settings.SITE_NAME}
