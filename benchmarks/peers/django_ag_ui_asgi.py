"""What startproject makes: the application that a user of django-ag-ui serves."""

from django.core.asgi import get_asgi_application

application = get_asgi_application()
