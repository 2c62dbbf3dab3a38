"""security.md says what every field holds, and operate.md how long: both are held to the code."""

import json
import re

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.management import get_commands, load_command_class

from agui import conf, parts
from agui.actor import Actor
from agui.contrib.export.document import HIDDEN_FIELDS, write_document
from agui.management.commands.prune_agent_data import TOKEN_AGE
from tests import pages
from tests.conftest import all_models

SECURITY = pages.read("security.md")
DATA = SECURITY.partition("\n## Where data is kept\n")[2]
OPERATE = pages.read("operate.md")
TEXT = DATA + OPERATE.partition("\n## Delete old data\n")[2].partition("\n## Read the log\n")[0]
MODELS = {model.__name__: model for model in all_models()}


def section(title):
    return re.split(r"^#{2,3} ", (SECURITY + OPERATE).partition(f"# {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def table(text):
    """The rows of a table, as lists of cells, without its head."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def fields(name):
    return {row[0].strip("`"): row[1:] for row in table(section(f"`{name}`"))}


def test_every_model_has_a_table():
    assert set(re.findall(r"^### `(\w+)`$", TEXT, re.MULTILINE)) == set(MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_every_field_is_named_with_what_it_is_and_whether_it_is_personal(name):
    told = fields(name)
    assert list(told) == [field.name for field in MODELS[name]._meta.concrete_fields]
    for field, (what, personal, export) in told.items():
        assert what, field
        assert personal in ("yes", "no"), field
        # What is personal is in the export.
        assert personal == "no" or export != "no", field
    assert "Kept" in section(f"`{name}`")


def hidden():
    """The fields that the export does not have, by table."""
    nobody = Actor(AnonymousUser(), "session:x")
    of_parts = [kept for part in parts.installed() for kept in part.personal_data(nobody)]
    return HIDDEN_FIELDS | {kept.rows.model: set(kept.hidden) for kept in of_parts}


def test_the_export_has_what_the_tables_say():
    for model, untold in hidden().items():
        rows = fields(model.__name__)
        told = {field for field, (_, _, export) in rows.items() if export == "yes"}
        assert told == set(rows) - untold, model


def test_names_in_the_export_are_what_the_tables_say(user):
    document = json.loads("".join(write_document(Actor(user, f"user:{user.pk}"))))
    named = re.findall(r"`(\w+)`", section("Export what is kept of a user").partition("It has ")[2].partition(".")[0])
    assert named == list(document)


def test_settings_and_options_are_what_they_are():
    parser = load_command_class("agui", "prune_agent_data").create_parser("manage.py", "prune_agent_data")
    rows = {name.strip("`"): (default, option) for name, default, option, _ in table(section("Delete old data"))}
    expected = {name.upper(): f"`{field.default}`" for name, field in conf.Retention.model_fields.items()}
    assert {name: default for name, (default, _) in rows.items()} == expected
    for name, (_, option) in rows.items():
        assert parser.parse_args([option.strip("`"), "7"]).__dict__[option.strip("`-")] == 7
        assert name.startswith(option.strip("`-").upper())
    shown = re.search(r"^AGUI\[.*?^\}", section("Delete old data"), re.MULTILINE | re.DOTALL)
    values = {"AGUI": {}}
    exec(shown[0], values)  # noqa: S102
    assert {name.lower() for name in values["AGUI"]["RETENTION"]} == set(conf.Retention.model_fields)
    conf.load(values["AGUI"])


@pytest.mark.parametrize("command", re.findall(r"manage\.py (\w+_agent_data[^`\n]*)", TEXT))
def test_commands_are_understood(command):
    name, *words = command.split()
    load_command_class(get_commands()[name], name).create_parser("manage.py", name).parse_args(
        words or ["ada"][: name[0] == "e"]
    )


def test_names_of_settings_exist():
    named = set(re.findall(r"`([A-Z]+(?:_[A-Z]+)+)\b[^`]*`", TEXT))
    of_parts = [part.settings for part in parts.installed() if part.settings]
    sections = [conf.EngineSettings, conf.Retention, *of_parts]
    known = {name.upper() for section in sections for name in section.model_fields}
    known |= {variable for section in of_parts for variable in section.environment.values()}
    assert named - known == {
        "DATABASE_URL",
        "MEDIA_ROOT",
        "AGENT_MODEL",
        "SESSION_COOKIE_AGE",
        "SECRET_KEY",
        "EMAIL_HOST",
    }


def test_the_life_of_dead_tokens_is_told():
    assert f"for {TOKEN_AGE.days} days after it expired" in section("`ApiToken`")
