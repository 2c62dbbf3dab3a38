"""Where the installer puts asgi.py and the route, for layouts of all kinds."""

import itertools
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from daily import at_night, by_day

sys.path.append(str(ROOT))
from installer.changes import Changes
from installer.plan import _plan_asgi, _plan_urls
from installer.project import Project

pytestmark = pytest.mark.usefixtures("without_twisted")

ROUTE = 'path("assistant/", include("assistant.urls"))'


def module_file(base: Path, module: str, is_package: bool = False) -> Path:
    """Make a module, with the packages around it."""
    path = base.joinpath(*module.split("."))
    for folder in [*path.parents][: module.count(".")]:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "__init__.py").touch()
    path = path / "__init__.py" if is_package else path.with_suffix(".py")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("urlpatterns = []\n")
    return path


def project(root: Path, settings: str, urls: str, base: Path, is_package: bool = False, **facts: Any) -> Project:
    given: dict[str, Any] = {
        "settings_module": settings,
        "settings_file": str(module_file(base, settings, is_package)),
        "root_urlconf": urls,
        "urlconf_file": str(module_file(base, urls, is_package)),
        "has_urlpatterns": True,
        "asgi_application": None,
        "wsgi_application": None,
    }
    return Project(root, root / "manage.py", Path("/python"), given | facts)


def planned_asgi(project: Project) -> tuple[str, str]:
    """The module, and the file that is made or edited."""
    changes = Changes(project.root)
    name = _plan_asgi(project, changes)
    [path] = [*changes.new, *changes.edits]
    return name, path.relative_to(project.root).as_posix()


def planned_urls(root: Path, text: str) -> str:
    """What becomes of a project's routes."""
    made = project(root, "shop.settings", "shop.urls", root, is_package=True)
    Path(made.facts["urlconf_file"]).write_text(text)
    changes = Changes(root)
    _plan_urls(made, changes)
    [(before, after)] = changes.edits.values()
    assert before == text
    return after


@pytest.mark.parametrize("folder", ["", *at_night("src/")])
@pytest.mark.parametrize(
    ("settings", "urls", "package"),
    [
        ("shop.settings", "shop.urls", "shop"),
        ("shop.settings.www", "shop.urls.www", "shop"),
        ("shop.settings.production", "shop.urls", "shop"),
        ("shop.settings", "shop.urls.hosts.main", "shop"),
        ("shop.conf.settings.local", "shop.web.urls", "shop"),
        ("shop.conf.settings", "shop.conf.urls", "shop.conf"),
        ("config.settings.local", "shop.urls", "config"),
        ("settings", "shop.urls", "shop"),
        ("settings", "urls", ""),
    ],
)
def test_asgi_is_in_the_package_of_both_and_beside_what_is_there(tmp_path, settings, urls, package, folder):
    """Whichever of both are packages, and wherever the project's packages are."""
    for number, (is_package, beside) in enumerate(itertools.product([False, True], [None, "wsgi", "asgi"])):
        root = tmp_path / str(number)
        base = root / folder
        made = project(root, settings, urls, base, is_package)
        place = "".join(f"{name}/" for name in package.split(".") if name)
        if beside:
            text = "from django.core.asgi import get_asgi_application\n" if beside == "asgi" else ""
            (base / place / f"{beside}.py").write_text(text)
        assert planned_asgi(made) == (f"{package}.asgi".lstrip("."), f"{folder}{place}asgi.py")


@pytest.mark.parametrize(
    ("settings", "wsgi", "asgi"),
    [("conf.settings", "deploy.wsgi", "deploy.asgi"), ("shop.settings.live", "shop.wsgi.live", "shop.asgi")],
)
def test_asgi_is_beside_the_wsgi_file_that_the_settings_name_and_not_among_several(tmp_path, settings, wsgi, asgi):
    made = project(tmp_path, settings, "shop.urls", tmp_path, wsgi_application=f"{wsgi}.application")
    module_file(tmp_path, wsgi)
    assert planned_asgi(made) == (asgi, f"{asgi.replace('.', '/')}.py")


@pytest.mark.parametrize(
    "text",
    by_day(
        [
            "from .base import urlpatterns\n",
            "from .base import urlpatterns as urlpatterns  # kept\n",
            "from .base import *\n",
            "from shop.web import routes\n\nurlpatterns = routes.all()\n",
            "from .base import urlpatterns\n\nurlpatterns += []\n",
            "if True:\n    from .base import urlpatterns\nelse:\n    urlpatterns = []\n",
            '"""Routes."""\n\nimport builtins\n\nbuiltins.vars()["urlpatterns"] = []\n',
        ]
    ),
)
def test_routes_that_come_from_elsewhere_get_one_more(tmp_path, text):
    """The module is executed with a Django that has just enough."""
    after = planned_urls(tmp_path, text)
    assert after.count(ROUTE) == 1
    for line in text.splitlines():
        assert line in after
    names = {"urlpatterns": ["theirs"]}
    lines = [line for line in after.splitlines() if "import" not in line and "routes.all" not in line]
    body = "\n".join(lines).replace("if True:\nelse:\n    urlpatterns = []", "").replace("builtins.vars()", "globals()")
    exec(body, names | {"path": lambda *args: args, "include": str} | names, names)  # noqa: S102
    assert names["urlpatterns"][0] == ("assistant/", "assistant.urls")


def test_the_route_is_outside_of_a_namespace_for_all_routes(tmp_path):
    """As linkding has one: `agui:run` would be `shop:agui:run`."""
    text = "from django.urls import include, path\n\nurlpatterns = [\n    ours,\n]\n\n"
    text += 'urlpatterns = [path("", include((urlpatterns, "shop")))]\n'
    assert planned_urls(tmp_path, text) == text.replace('[path("", ', f'[{ROUTE}, path("", ')


@pytest.mark.parametrize("line", ["from routing import path", "include = None", "import other as include"])
def test_a_module_with_another_function_of_this_name_names_djangos_whole(tmp_path, line):
    """As the routes of django-modern-rest have `dmr.routing.path`."""
    after = planned_urls(tmp_path, f"{line}\n\nurlpatterns = [ours]\n")
    route = 'django.urls.path("assistant/", django.urls.include("assistant.urls"))'
    assert set(after.split("\n")) == {line, "import django.urls", "", f"urlpatterns = [{route}, ours]"}


def test_a_module_without_routes_is_refused(tmp_path):
    made = project(tmp_path, "shop.settings", "shop.urls", tmp_path, has_urlpatterns=False)
    with pytest.raises(Exception, match="has no urlpatterns"):
        _plan_urls(made, Changes(tmp_path))
