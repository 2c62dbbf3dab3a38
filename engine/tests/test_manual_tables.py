"""Tables of the manual are held to the code.

security.md says what every field holds, and operate.md how long. settings.md has every key of AGUI as agui/conf.py has
it, and troubleshooting.md has every check, refusal and failure, in the engine's own words.
"""

import json
import re
from pathlib import Path

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.management import load_command_class

import agui
from agui import conf, errors, parts
from agui.actor import Actor
from agui.contrib.export.document import HIDDEN_FIELDS, write_document
from agui.management.commands.prune_agent_data import TOKEN_AGE
from tests import pages
from tests.conftest import all_models
from tests.settings_reference import sections_in, written

SECURITY = pages.read("security.md")
DATA = SECURITY.partition("\n## Where data is kept\n")[2]
OPERATE = pages.read("operate.md")
TEXT = DATA + OPERATE.partition("\n## Delete old data\n")[2].partition("\n## Read the log\n")[0]
TROUBLE = pages.read("troubleshooting.md")
MODELS = {model.__name__: model for model in all_models()}
SOURCE = "".join(path.read_text() for path in Path(agui.__file__).parent.rglob("*.py"))


def section(title):
    text = SECURITY + OPERATE + TROUBLE
    return re.split(r"^#{2,3} ", text.partition(f"# {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def table(title):
    """The rows of a section's table, as lists of cells, without its head and without backticks around a cell."""
    lines = re.findall(r"^\| ?(.*) \|$", section(title), re.MULTILINE)
    rows = [line.split(" | ") for line in lines if "---" not in line]
    return [[re.sub(r"^`([^`]*)`$", r"\1", cell.strip()) for cell in row] for row in rows[1:]]


def fields(name):
    return {row[0]: row[1:] for row in table(f"`{name}`")}


# --- What is kept


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


def test_the_export_has_what_the_tables_say():
    nobody = Actor(AnonymousUser(), "session:x")
    of_parts = [kept for part in parts.installed() for kept in part.personal_data(nobody)]
    hidden = HIDDEN_FIELDS | {kept.rows.model: set(kept.hidden) for kept in of_parts}
    for model, untold in hidden.items():
        rows = fields(model.__name__)
        told = {field for field, (_, _, export) in rows.items() if export == "yes"}
        assert told == set(rows) - untold, model


def test_names_in_the_export_are_what_the_tables_say(user):
    document = json.loads("".join(write_document(Actor(user, f"user:{user.pk}"))))
    named = re.findall(r"`(\w+)`", section("Export what is kept of a user").partition("It has ")[2].partition(".")[0])
    assert named == list(document)


def test_settings_and_options_are_what_they_are():
    parser = load_command_class("agui", "prune_agent_data").create_parser("manage.py", "prune_agent_data")
    rows = {name: (default, option) for name, default, option, _ in table("Delete old data")}
    expected = {name.upper(): str(field.default) for name, field in conf.Retention.model_fields.items()}
    assert {name: default for name, (default, _) in rows.items()} == expected
    for name, (_, option) in rows.items():
        assert parser.parse_args([option, "7"]).__dict__[option.strip("-")] == 7
        assert name.startswith(option.strip("-").upper())
    shown = re.search(r"^AGUI\[.*?^\}", section("Delete old data"), re.MULTILINE | re.DOTALL)
    values = {"AGUI": {}}
    exec(shown[0], values)  # noqa: S102
    assert {name.lower() for name in values["AGUI"]["RETENTION"]} == set(conf.Retention.model_fields)


def test_names_of_settings_exist():
    named = set(re.findall(r"`([A-Z]+(?:_[A-Z]+)+)\b[^`]*`", TEXT))
    of_parts = [part.settings for part in parts.installed() if part.settings]
    sections = [conf.EngineSettings, conf.Retention, *of_parts]
    known = {name.upper() for section in sections for name in section.model_fields}
    known |= {variable for section in of_parts for variable in section.environment.values()}
    others = {"DATABASE_URL", "MEDIA_ROOT", "AGENT_MODEL", "SESSION_COOKIE_AGE", "SECRET_KEY", "EMAIL_HOST"}
    assert named - known == others


def test_the_life_of_dead_tokens_is_told():
    assert f"for {TOKEN_AGE.days} days after it expired" in section("`ApiToken`")


# --- Settings


def test_the_tables_of_settings_are_those_of_conf():
    page = pages.read("settings.md")
    assert page == written(page), "Run: make settings"


def test_every_key_has_a_description():
    models = [type(conf.get())]
    for model in models:
        for name, field in model.model_fields.items():
            assert field.description, name
            models += [one for one in sections_in(field.annotation) if one not in models]
    assert len(models) > 5


# --- Trouble


def refusals(kind: type[errors.HttpError] = errors.HttpError) -> set[tuple[int, str]]:
    found = {(known.status.value, known.code) for known in kind.__subclasses__()}
    return found.union(*map(refusals, kind.__subclasses__()))


def test_each_check_refusal_and_failure_is_there():
    ids = set(re.findall(r'id="(\w+\.[EWI]\d+)"', SOURCE))
    assert {row[0] for row in table("The server does not start")} == ids
    told = {(int(status), code) for status, code, _ in table("The server refuses a request")}
    # Where nobody has signed in from a host yet, its module may not be there.
    assert told == refusals() | {(403, "insufficient_scope")}
    assert {code: sentence for code, sentence, _ in table("A run fails")} == errors.RUN_ERRORS


@pytest.mark.parametrize("words", re.findall(r"\*\*`([^`]+)`", TROUBLE))
def test_quoted_words_are_the_engines(words: str):
    # A sentence may be broken in two in the code.
    assert words in re.sub(r'"\n\s+f?"', "", SOURCE)


def test_settings_that_help_exist():
    named = set(re.findall(r"`([A-Z]+_[A-Z_]+)`", TROUBLE))
    engine = {name.upper() for name in conf.EngineSettings.model_fields}
    others = {"INSTALLED_APPS", "ASGI_APPLICATION", "ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS", "BEHIND_PROXY"}
    others |= {"DATABASE_ROUTERS", "USE_TZ", "AGENT_MODEL", "REDIS_URL", "DATABASE_URL", "RUN_ERROR"}
    others |= {"EMAIL_BACKEND", "EMAIL_TIMEOUT", "SITE_URL", "SITE_NAME", "STATIC_URL", "FORCE_SCRIPT_NAME"}
    assert named - others <= engine
