"""All changes that bring the agent into a project, planned before the first one is made."""

import os
import re
from pathlib import Path

import libcst as cst

from installer import (
    dockerfiles,
    name_lists,
    package_folders,
    python_files,
    requirement_files,
    requirement_places,
    source,
)
from installer.changes import Changes
from installer.errors import Refusal
from installer.project import Project

DAPHNE = "agui.server.daphne_app.DaphneConfig"
PIP_COMPILE = (
    "If pip-compile makes another file of {path}, call it with --no-emit-find-links, and pip with "
    "--find-links and the folder vendor/: else that file names a path of this machine."
)
ROUTE = 'path("assistant/", include("assistant.urls"))'
NEW_ASGI = '''"""The application that an ASGI server runs: `daphne {module}:application`."""

import os

from agui.server.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "{settings}")

application = get_asgi_application()
'''


def plan(project: Project, parts: list[str], form: str) -> Changes:
    """Plan everything. Raises Refusal if a file is not as it should be."""
    changes = Changes(project.root)
    if form == "package":
        for path in (project.code / source.WHEELS, project.code / source.wheel()[0]):
            if path.exists() and not path.is_dir():
                raise Refusal(f"{path} exists already, and the agent needs this name.")
    for name, contents in source.files(parts, form).items():
        changes.new[project.code / name] = contents
    _plan_page(project, changes)
    asgi_module = _plan_asgi(project, changes)
    _plan_settings(project, changes, parts, asgi_module)
    _plan_urls(project, changes)
    plan_requirements(changes, project, parts, form)
    if form == "package":
        _plan_dockerfiles(project, changes)
    return changes


def _plan_dockerfiles(project: Project, changes: Changes) -> None:
    requirements = requirement_places.find(project.directories).path
    end = ""
    if requirements is not None:
        folder = os.path.relpath(project.code / source.WHEELS, requirements.parent)
        end = f", to {folder} as seen from {requirements.name}"
    for path in dockerfiles.installing(project.root):
        changes.notes.append(f"Let {path} copy vendor/ before it installs the requirements{end}.")


def plan_requirements(
    changes: Changes, project: Project, parts: list[str], form: str, original: str | None = None
) -> None:
    """Plan the file of requirements, whose text without the agent's packages may be given."""
    place = requirement_places.find(project.directories)
    changes.notes += place.notes
    if place.path is None:
        return
    if original is None:
        original = requirement_files.read(place.path) if place.path.exists() else ""
    lines = source.requirements(parts, form)
    changes.notes += requirement_files.too_old(place.path, original, lines)
    if form == "package" and place.path.suffix == ".in":
        changes.notes.append(PIP_COMPILE.format(path=place.path))
    wheel = project.code / source.wheel()[0] if form == "package" else None
    changes.write(place.path, requirement_files.add(place.path, original, lines, wheel))
    other = package_folders.other_uv_file(place.path, original) if wheel else None
    if wheel is None or other is None:
        return
    if other.is_relative_to(project.root):
        changes.write(other, package_folders.add_for_uv(other, wheel))
    else:
        folder = os.path.relpath(wheel.parent, other.parent)
        changes.notes.append(f'Write find-links = ["{folder}"] for uv in {other}.')


def plan_newer_package(changes: Changes, project: Project, line: str) -> None:
    """Plan the line of the engine's package where a project has it."""
    path = requirement_places.find(project.directories).path
    before = None if path is None or not path.exists() else requirement_files.read(path)
    after = None
    if path is not None and before is not None:
        wheel = project.code / source.wheel()[0]
        after = requirement_files.renew(path, before, line, wheel)
    if path is None or after is None:
        changes.notes.append(f"Write {line!r} where you require agui-django.")
    else:
        changes.write(path, after)


def _plan_page(project: Project, changes: Changes) -> None:
    """Name the engine of the page's template, if another one (Jinja) would find it first."""
    engine = project.facts["django_engines"][0]
    if engine == project.facts["engines"][0]:
        return
    views = project.code / "assistant/views.py"
    changes.new[views] = changes.new[views].replace(b"})", b'}, using="%s")' % engine.encode())


def _plan_settings(project: Project, changes: Changes, parts: list[str], asgi_module: str) -> None:
    path = settings_file(project)
    text = requirement_files.read(path)
    module = parse(path, text)
    names = project.facts["names"]
    first = []
    if "daphne" not in names:
        first.append(f'"{DAPHNE}"')
    if source.PART_BEFORE_ADMIN in parts:
        first.append(f'"agui.contrib.{source.PART_BEFORE_ADMIN}"')
    # The assistant comes first: its templates replace those of the engine.
    apps = ['"assistant"', '"agui"']
    if parts:
        apps.append("*AGENT_PARTS")
        module = python_files.add_import(module, "assistant.parts", "AGENT_PARTS")
    module = name_lists.extend(module, "INSTALLED_APPS", first, apps)
    statements = []
    if not project.facts["has_agent_model"]:
        if python_files.sources(module, "os") not in ([], [""]):
            raise Refusal(f"In {path} the name 'os' is not Python's module.")
        statements.append('AGENT_MODEL = os.environ.get("AGENT_MODEL", "demo")\n')
        module = python_files.add_import(module, "os")
    if not project.facts["asgi_application"]:
        statements.append(f'ASGI_APPLICATION = "{asgi_module}.application"\n')
    if not project.facts["has_login"] and project.facts["admin_login"]:
        statements.append('LOGIN_URL = "admin:login"\n')
    changes.write(path, python_files.insert_below(module, "INSTALLED_APPS", statements).code)


def settings_file(project: Project) -> Path:
    """The file with the project's INSTALLED_APPS; several files may add to each other."""
    files: dict[Path, cst.Module] = {}
    for name in project.facts["settings_files"].values():
        path = project.own(name)
        if path is not None:
            files[path] = parse(path, requirement_files.read(path))
    changing = [path for path in files if python_files.assigns(files[path], "INSTALLED_APPS")]
    # The settings of a framework within the project have no ROOT_URLCONF.
    with_urls = [path for path in changing if python_files.defines(files[path], "ROOT_URLCONF")]
    defining = [path for path in changing if python_files.defines(files[path], "INSTALLED_APPS")]
    for candidates in (with_urls, defining):
        if len(candidates) == 1:
            return candidates[0]
    main = project.own(project.facts["settings_file"])
    if main is None:
        raise Refusal(
            f"The settings ({project.facts['settings_module']}) are no file of the project."
        )
    return main


def _plan_urls(project: Project, changes: Changes) -> None:
    path = Path(project.facts["urlconf_file"])
    text = requirement_files.read(path)
    module = parse(path, text)
    if not project.facts["has_urlpatterns"]:
        raise Refusal(f"{path} has no urlpatterns.")
    route = ROUTE
    taken = [*python_files.sources(module, "include"), *python_files.sources(module, "path")]
    if any(not package.startswith("django.") for package in taken):
        # Here `path` or `include` is another library's function.
        route = ROUTE.replace("path(", "django.urls.path(").replace(
            "include(", "django.urls.include("
        )
        module = python_files.add_import(module, "django.urls")
    else:
        for name in ("include", "path"):
            if not python_files.sources(module, name):
                module = python_files.add_import(module, "django.urls", name)
    changes.write(path, name_lists.extend(module, "urlpatterns", [route], []).code)


def _plan_asgi(project: Project, changes: Changes) -> str:
    """Plan the ASGI file, and name its module."""
    application = project.facts["asgi_application"]
    if application:
        name = application.rpartition(".")[0]
        path = project.code / Path(*name.split(".")).with_suffix(".py")
    else:
        package, folder = _main_package(project)
        name = f"{package}.asgi".lstrip(".")
        path = folder / "asgi.py"
    if not path.exists():
        if application:
            raise Refusal(
                f"ASGI_APPLICATION is {application!r}, and the project has no file {path}."
            )
        settings = _wsgi_settings(path) or project.facts["settings_module"]
        changes.new[path] = NEW_ASGI.format(module=name, settings=settings).encode()
        return name
    module = parse(path, requirement_files.read(path))
    moved = python_files.move_import(
        module, "get_asgi_application", "django.core.asgi", "agui.server.asgi"
    )
    if moved is None:
        raise Refusal(f"{path} does not import get_asgi_application from django.core.asgi.")
    changes.write(path, moved.code)
    return name


def _main_package(project: Project) -> tuple[str, Path]:
    """The package for asgi.py, with its folder; "" if the settings and the routes are in none.

    It is the one that has asgi.py, else wsgi.py, else the innermost of both modules.
    """
    packages: list[dict[str, Path]] = []
    for module, file in (("settings_module", "settings_file"), ("root_urlconf", "urlconf_file")):
        path = project.own(project.facts[file])
        if path is not None:
            packages.append(_packages(project.facts[module], path))
    wsgi = (project.facts["wsgi_application"] or "").rpartition(".")[0]
    wsgi_file = project.code / f"{wsgi.replace('.', '/')}.py"
    beside = [_packages(wsgi, wsgi_file)] if wsgi and wsgi_file.exists() else []
    for name in ("asgi.py", "wsgi.py"):
        for folders in [*beside, *packages]:
            for package, folder in folders.items():
                if (folder / name).exists():
                    return package, folder
    for package, folder in packages[0].items():
        if package and all(package in folders for folders in packages):
            return package, folder
    # They share none: the outermost package of the settings, or else of the routes.
    outermost = [list(folders.items())[-2] for folders in packages if len(folders) > 1]
    return (outermost or [("", packages[0][""])])[0]


def _packages(module: str, file: Path) -> dict[str, Path]:
    """The packages around a module with their folders, the innermost first; "" is the last."""
    folder = file.parent
    if file.name == "__init__.py":
        folder = folder.parent
    packages = {}
    names = module.split(".")[:-1]
    for count in range(len(names), -1, -1):
        packages[".".join(names[:count])] = folder
        folder = folder.parent
    return packages


def _wsgi_settings(asgi: Path) -> str | None:
    """The settings that the WSGI file beside it names: those of production."""
    wsgi = asgi.with_name("wsgi.py")
    if not wsgi.exists():
        return None
    found = re.search(
        r"""DJANGO_SETTINGS_MODULE["'](?:,|\] =)\s*["']([\w.]+)["']""", wsgi.read_text()
    )
    return found[1] if found else None


def parse(path: Path, text: str) -> cst.Module:
    try:
        return python_files.parse(text)
    except cst.ParserSyntaxError:
        raise Refusal(f"{path} can't be read as Python.") from None
