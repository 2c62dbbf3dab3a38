"""Parts: the example of the documentation, and what the class promises."""

import json
import re
import sys
from html import unescape
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.template import Context, Template

from agui import conf, contrib, parts
from agui.testing import say
from tests import pages
from tests.conftest import run_input, script

PAGE = pages.read("parts.md")
BLOCK = re.compile(r"^```python\n# (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def office(tmp_path, monkeypatch, settings):
    """The part of the documentation, installed; the second one, `weather`, can be."""
    for name, code in BLOCK.findall(PAGE):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(code)
    for name in ("office", "weather"):
        (tmp_path / name / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "office"]
    yield settings
    for name in [name for name in sys.modules if name.partition(".")[0] in ("office", "weather")]:
        del sys.modules[name]


async def test_a_part_of_your_own_refuses_runs_and_tells_clients(client, user, office):
    office.AGUI = {"OFFICE": {"OPENS": 0, "CLOSES": 0}}
    told = json.loads((await client.get("capabilities/")).content)
    assert told["custom"]["office_hours"] == [0, 0]
    response = await client.post(run_input("Hello"))
    assert response.status_code == 503
    assert json.loads(response.content)["message"] == "The agent answers from 0 to 0 o'clock."
    user.is_staff = True
    await user.asave()
    with script(say("Hi")):
        assert (await client.run("Hello"))[-1]["type"] == "RUN_FINISHED"


def test_a_part_is_asked_that_has_the_method_and_is_installed(office):
    asked = {part.name for part in parts.implementing("before_run")}
    assert "office" in asked
    assert asked < {part.name for part in parts.installed()}
    office.INSTALLED_APPS = [name for name in office.INSTALLED_APPS if name != "office"]
    assert {part.name for part in parts.implementing("before_run")} == asked - {"office"}


def test_the_page_gets_the_addresses_of_modules_of_parts(office):
    office.INSTALLED_APPS = [*office.INSTALLED_APPS, "weather"]
    page = Template('{% include "agui/attributes.html" with agent="agui" %}')
    [modules] = re.findall(r'data-modules="(.*?)"', page.render(Context()))
    addresses = json.loads(unescape(modules))
    assert addresses["activity:weather"] == "/static/weather/weather.js"
    assert addresses["math"] == "/static/agui_formulas/formula.js"
    # What has nothing to do on a page is not on it: nobody writes down speech, and no model makes titles.
    assert addresses.keys().isdisjoint({"composer:voice", "run:titles"})
    gone = {part.name for part in parts.installed() if part.page_modules}
    office.INSTALLED_APPS = [name for name in office.INSTALLED_APPS if name not in gone]
    assert "data-modules" not in page.render(Context())


def test_a_menu_of_the_page_has_what_users_decide(settings):
    menu = Template('{% include "agui/pages.html" with agent="agui" %}')
    assert menu.render(Context()).strip() == ""
    notifications = {"MAIL": "opt_in", "SITE_URL": "https://a.example"}
    settings.AGUI = {**settings.AGUI, "MCP": {"ENDPOINT": True}, "NOTIFICATIONS": notifications}
    assert re.findall(r'<a href="(.*?)">(.*?)</a>', menu.render(Context())) == [
        ("/agent/mcp/approvals/", "Approvals"),
        ("/agent/notifications/page/", "Notifications"),
    ]


def test_its_settings_are_checked_with_the_others(office):
    with pytest.raises(ImproperlyConfigured, match=r"AGUI\['OFFICE'\]\['OPENS'\] = 25"):
        conf.load({"OFFICE": {"OPENS": 25}})
    with pytest.raises(ImproperlyConfigured, match=r"AGUI\['OFFICE'\]\['HOURS'\] is not a setting.*OPENS, CLOSES"):
        conf.load({"OFFICE": {"HOURS": 8}})


def test_settings_of_a_part_that_is_gone_are_refused(settings):
    settings.INSTALLED_APPS = [name for name in settings.INSTALLED_APPS if name != "agui.contrib.voice"]
    with pytest.raises(ImproperlyConfigured, match=r"AGUI\['VOICE'\] belongs to the part 'agui.contrib.voice'"):
        conf.load({"VOICE": {}})


def test_the_documentation_names_every_part():
    named = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    there = [path.parent.name for path in Path(contrib.__path__[0]).glob("*/apps.py")]
    assert sorted(named) == sorted(there)
