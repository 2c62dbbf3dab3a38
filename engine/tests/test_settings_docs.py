"""agui/manual/settings.md has every key of AGUI as agui/conf.py has it."""

import re

from agui import conf
from tests import pages
from tests.settings_reference import sections_in, written


def test_its_tables_are_those_of_conf():
    page = pages.read("settings.md")
    assert page == written(page), "Run: make settings"


def test_every_key_has_a_description():
    models = [type(conf.get())]
    for model in models:
        for name, field in model.model_fields.items():
            assert field.description, name
            models += [one for one in sections_in(field.annotation) if one not in models]
    assert len(models) > 5


def test_what_it_shows_of_settings_is_accepted():
    shown = re.search(r"```python\n(.*?)^```", pages.read("settings.md"), re.MULTILINE | re.DOTALL)
    values = {"AGUI": {}}
    exec(shown[1], values)  # noqa: S102
    assert values["AGUI"]
    conf.load(values["AGUI"])
