"""Write tools from all models of the apps that are named: `python generate.py zoo`. Prints each model's label."""

import os
import sys

import django

sys.path.insert(0, os.getcwd())
django.setup()

from agui.contrib.agentify.owners import guess_paths  # noqa: E402
from django.apps import apps  # noqa: E402
from django.core.management import call_command  # noqa: E402

for model in apps.get_models():
    package = apps.get_app_config(model._meta.app_label).name.partition(".")[0]
    if package in sys.argv[1:]:
        paths = guess_paths(model)
        call_command("agentify", model._meta.label, owner=paths[0] if paths else "")
        print(f"MODEL {package} {model._meta.label}")
