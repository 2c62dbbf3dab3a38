"""Read a project's settings. This runs under the project's own Python, in a command's place.

Arguments: the path of manage.py, the path of the file to write, "settings", "tables" or "all", and
the path of the engine's project_checks.py. With "all" it also loads the project's applications and
routes, and runs those checks. It must run on old versions, too, to tell which one it is.
"""

import contextlib
import importlib
import importlib.util
import json
import os
import runpy
import sys
import types

PAGE = "/assistant/"
NOWHERE = "/a-page-that-nobody-has/"
CHECKS = sys.argv[4]


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
        "root_urlconf": settings.ROOT_URLCONF,
        "asgi_application": getattr(settings, "ASGI_APPLICATION", None),
        "wsgi_application": getattr(settings, "WSGI_APPLICATION", None),
        "login_url": str(settings.LOGIN_URL),
        "has_agent_model": hasattr(settings, "AGENT_MODEL"),
    }


def read_tables():
    """Add which of the engine and its parts have tables, by database. This loads no application."""
    # The settings import from assistant/, which the user may have deleted.
    if not os.path.exists(os.path.join(os.path.dirname(sys.argv[0]), "assistant", "__init__.py")):
        sys.modules["assistant"] = types.ModuleType("assistant")
        sys.modules["assistant.parts"] = types.ModuleType("assistant.parts")
        sys.modules["assistant.parts"].AGENT_PARTS = []
    from django.conf import settings
    from django.db import connections

    facts = read_settings()
    # Without a router, they are in the default database.
    aliases = list(connections) if settings.DATABASE_ROUTERS else ["default"]
    facts["tables"] = {alias: labels_with_tables(connections[alias]) for alias in aliases}
    return facts


def labels_with_tables(connection):
    """Those of parts come first, and conversations last: tables refer to the ones after them."""
    name = str(connection.settings_dict["NAME"])
    # SQLite would make the file.
    if connection.vendor == "sqlite" and not name.startswith("file:") and not os.path.exists(name):
        return []
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
        if "django_migrations" not in tables:
            return []
        cursor.execute("SELECT DISTINCT app FROM django_migrations")
        applied = {label for (label,) in cursor.fetchall()}
    labels = sorted([one for one in applied if one.partition("_")[0] == "agui"], reverse=True)
    labels += sorted(applied & {"assistant"})
    found = []
    for label in labels:
        own = {table for table in tables if table.startswith(label + "_")}
        if own:
            found.append(label)
            tables -= own
    return found


def read_all():
    import django
    from django.apps import apps
    from django.db import connection
    from django.shortcuts import resolve_url
    from django.template import engines
    from django.template.backends.django import DjangoTemplates
    from django.urls import NoReverseMatch, reverse

    outside = [name for name in ("agui", "assistant") if is_taken(name)]
    django.setup()
    facts = read_settings()
    facts["labels"] = [config.label for config in apps.get_app_configs()]
    facts["names"] = [config.name for config in apps.get_app_configs()]
    facts["outside"] = outside
    facts["database"] = connection.vendor
    # The engines of Django's own templates, by name; the first of TEMPLATES comes before them.
    facts["engines"] = [engine.name for engine in engines.all()]
    facts["django_engines"] = [
        engine.name
        for engine in engines.all()
        if isinstance(engine, DjangoTemplates) and "app_directories" in str(engine.engine.loaders)
    ]
    facts["urlconf_file"] = file_of(facts["root_urlconf"])
    facts["has_urlpatterns"] = hasattr(sys.modules[facts["root_urlconf"]], "urlpatterns")
    facts["page_is_taken"] = leads_somewhere(PAGE)
    try:
        facts["has_login"] = leads_somewhere(resolve_url(facts["login_url"]))
    except NoReverseMatch:
        facts["has_login"] = False
    try:
        facts["admin_login"] = reverse("admin:login")
    except NoReverseMatch:
        facts["admin_login"] = None
    facts["errors"] = errors_of_checks(facts["names"])
    return facts


def errors_of_checks(names):
    """What the engine's checks would say of these settings."""
    from django.db import models

    checks = runpy.run_path(CHECKS)
    found = checks["check_time_zones"]()
    if "daphne" in names:  # Otherwise the installer adds it.
        found += checks["check_applications"]()
    owned = []
    for label, name in (("agui", "Run"), ("assistant", "Conversation")):
        # Routers know a model by its label and its name.
        meta = type("Meta", (), {"app_label": label})
        attributes = {"__module__": label + ".models", "Meta": meta}
        owned.append(type(models.Model)(name, (models.Model,), attributes))
    # A router may ask for what only installed applications have.
    with contextlib.suppress(Exception):
        found += checks["check_routes"](owned)
    return [f"{error.msg} {error.hint} ({error.id})" for error in found]


def is_taken(name):
    """Whether there is such a package, other than the engine's own that pip has installed."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        return False
    folder = os.path.dirname(spec.origin or "")
    is_engine = os.path.exists(os.path.join(folder, "distribution", "pack.py"))
    return not (is_engine and "site-packages" in folder.split(os.sep))


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


LEVELS = {"settings": read_settings, "tables": read_tables, "all": read_all}


def main():
    manage, output, level = sys.argv[1:4]
    facts = {
        "python": list(sys.version_info[:2]),
        "has_pip": importlib.util.find_spec("pip") is not None,
    }

    def answer(*arguments, **options):
        facts.update(LEVELS[level]())

    try:
        import django
        from django.core.management import ManagementUtility

        facts["django"] = list(django.VERSION[:2])
        # What manage.py does before its command (paths, variables) is done as usual.
        ManagementUtility.execute = answer
        sys.argv = [manage, "check"]
        sys.path[0] = os.path.dirname(manage)
        runpy.run_path(manage, run_name="__main__")
    except (Exception, SystemExit) as error:
        facts["error"] = f"{type(error).__name__}: {error}"
    with open(output, "w") as stream:
        json.dump(facts, stream)


main()
