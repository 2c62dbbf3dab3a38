"""The examples of reference.md run. tests/test_reference.py holds its signatures to the code."""

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from pydantic_ai import RunContext

from agui import AgentDeps, AuditEvent, conf
from agui.stores.base import ThreadStore
from agui.testing import as_user
from tests import pages

SECTION = re.compile(r"^### `([\w.]+)`\n.*?<!-- Above[^\n]*\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
EXAMPLES: dict[str, str] = dict(SECTION.findall(pages.read("reference.md")))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", EXAMPLES)
async def test_the_example_runs(name: str, user: Any, settings: Any, mount: Any, media: Path, tmp_path: Path):
    below = EXAMPLES[name]
    for part in re.findall(r"\*Part `(\w+)`\.\*", below):
        if not apps.is_installed(f"agui.contrib.{part}"):
            pytest.skip(f"The part {part} is not installed.")
        if part == "drf_mcp":
            pytest.importorskip("rest_framework_mcp")
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference/card.html").write_text("<p>{{ city }}</p>")
    settings.TEMPLATES = [{**one, "DIRS": [*one["DIRS"], tmp_path]} for one in settings.TEMPLATES]
    [code] = re.findall(r"^```python\n(.*?)^```$", below, re.MULTILINE | re.DOTALL)
    given = {"user": user, "ctx": as_user(user), "settings": settings, "mount": mount}
    given |= {"RunContext": RunContext, "AgentDeps": AgentDeps, "__name__": "example"}
    result = eval(compile(code, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), given)  # noqa: S307
    if inspect.isawaitable(result):
        await result


def test_names_for_those_who_come_from_django_ag_ui_exist():
    page = pages.read("from-django-ag-ui.md")
    event = AuditEvent.__dataclass_fields__.keys() | {"success", "arguments_repr"}
    told = page.partition("| of `AuditEvent` there")[2].partition("\n\n")[0]
    there = {"organization_id", "target_type", "target_id", "ip_address"}
    assert set(re.findall(r"`(\w+)`", told)) == event | there
    rows = page.partition("\n## The store\n")[2].partition("\n## ")[0].splitlines()
    here = "\n".join(row.split(" | ")[1] for row in rows if row.startswith("| "))
    store = set(re.findall(r"`(\w+)(?:\(|`)", here))
    classes = {"ModelConversationStore", "ThreadStore", "Conversation", "ThreadSummary", "get_urls"}
    others = {"scope", "session_store", "conversation_id", "messages", "usage"}
    assert {name for name in store - classes if not hasattr(ThreadStore, name)} <= others
    keys = set(re.findall(r'AGUI\["(\w+)"\]', page))
    assert {key.lower() for key in keys} <= set(conf.EngineSettings.model_fields)
