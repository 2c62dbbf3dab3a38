"""Write tools from all models of the apps that are named: `python generate.py zoo`.

Prints each model's label, and why a model is refused.
"""

import os
import sys

import django

sys.path.insert(0, os.getcwd())
django.setup()

from agui.contrib.agentify.owners import guess_paths  # noqa: E402
from django.apps import apps  # noqa: E402
from django.core.management import CommandError, call_command  # noqa: E402

for model in apps.get_models():
    config = apps.get_app_config(model._meta.app_label)
    package = next((name for name in sys.argv[1:] if f"{config.name}.".startswith(f"{name}.")), "")
    if package:
        paths = guess_paths(model)
        try:
            call_command("agentify", model._meta.label, owner=paths[0] if paths else "")
        except CommandError as error:
            print(f"REFUSED {error}")
        print(f"MODEL {package} {model._meta.label}")
