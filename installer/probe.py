"""Read a project's settings. This text runs under the project's own Python, in the place of a manage.py command.

Arguments: the path of manage.py, the path of the file to write, and "settings" or "all". With "all" it also loads the
project's applications and routes. It must run on old versions, too, to tell which one it is.
"""

import importlib
import importlib.util
import json
import os
import runpy
import sys

PAGE = "/assistant/"
NOWHERE = "/a-page-that-nobody-has/"


def read_settings():
    from django.conf import settings

    files = {}
    for name, module in list(sys.modules.items()):
        if hasattr(module, "INSTALLED_APPS") and getattr(module, "__file__", None):
            files[name] = os.path.realpath(module.__file__)
    module = os.environ.get("DJANGO_SETTINGS_MODULE", "")
    return {
        "settings_module": module,
        "settings_class": os.environ.get("DJANGO_CONFIGURATION"),
        "settings_file": file_of(module),
        "settings_files": files,
        "installed_apps": list(settings.INSTALLED_APPS),
        "middleware": list(settings.MIDDLEWARE),
        "root_urlconf": settings.ROOT_URLCONF,
        "asgi_application": getattr(settings, "ASGI_APPLICATION", None),
        "wsgi_application": getattr(settings, "WSGI_APPLICATION", None),
        "login_url": str(settings.LOGIN_URL),
        "has_agent_model": hasattr(settings, "AGENT_MODEL"),
    }


def read_all():
    import django
    from django.apps import apps
    from django.db import connection
    from django.shortcuts import resolve_url
    from django.template import engines
    from django.urls import NoReverseMatch, reverse

    outside = [name for name in ("agui", "assistant") if importlib.util.find_spec(name)]
    django.setup()
    facts = read_settings()
    facts["labels"] = [config.label for config in apps.get_app_configs()]
    facts["names"] = [config.name for config in apps.get_app_configs()]
    facts["outside"] = outside
    facts["database"] = connection.vendor
    facts["has_templates"] = any(
        getattr(engine, "app_dirs", False)
        or "app_directories" in str(getattr(engine, "engine", None) and engine.engine.loaders)
        for engine in engines.all()
    )
    facts["urlconf_file"] = file_of(facts["root_urlconf"])
    facts["page_is_taken"] = leads_somewhere(PAGE)
    try:
        facts["has_login"] = leads_somewhere(resolve_url(facts["login_url"]))
    except NoReverseMatch:
        facts["has_login"] = False
    try:
        facts["admin_login"] = reverse("admin:login")
    except NoReverseMatch:
        facts["admin_login"] = None
    return facts


def leads_somewhere(address):
    """Whether a route leads to this address, other than one that takes all addresses."""
    from django.urls import Resolver404, resolve

    if "://" in address:
        return True
    try:
        route = resolve(address).route
    except Resolver404:
        return False
    try:
        return resolve(NOWHERE).route != route
    except Resolver404:
        return True


def file_of(name):
    module = importlib.import_module(name) if name else None
    path = getattr(module, "__file__", None)
    return os.path.realpath(path) if path else None


def main():
    manage, output, level = sys.argv[1:]
    facts = {"python": list(sys.version_info[:2])}

    def answer(*arguments, **options):
        facts.update(read_all() if level == "all" else read_settings())

    try:
        import django
        from django.core.management import ManagementUtility

        facts["django"] = list(django.VERSION[:2])
        # What manage.py does before its command (paths, variables, other settings) is done as usual.
        ManagementUtility.execute = answer
        sys.argv = [manage, "check"]
        sys.path[0] = os.path.dirname(manage)
        runpy.run_path(manage, run_name="__main__")
    except (Exception, SystemExit) as error:
        facts["error"] = f"{type(error).__name__}: {error}"
    with open(output, "w") as stream:
        json.dump(facts, stream)


main()
