"""Tells the template's hooks where the template is: cookiecutter renders them in its directory.

Keep the names of this module and its class, and keep no state in it: `cruft update` renders two versions
of the template in one process, with the module of the first one.
"""

import os

from jinja2 import Environment
from jinja2.ext import Extension


class TemplateDirectory(Extension):
    """Adds `template_directory()` to Jinja: the path of the template, as bytes, while a hook is rendered."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        environment.globals["template_directory"] = os.getcwdb
