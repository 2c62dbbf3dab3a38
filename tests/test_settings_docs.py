"""agui/manual/settings.md has every variable that the project reads. Its tables of AGUI are tested in the project."""

import re

from conftest import MANUAL, ROOT, TEMPLATE_NAME

PROJECT = ROOT / TEMPLATE_NAME


def test_every_variable_of_the_environment_is_there():
    page = (MANUAL / "settings.md").read_text().split("\n## Environment\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    documented = [name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)]
    read = re.findall(r"\benv\.\w+\(\"([A-Z_]+)\"", (PROJECT / "config/settings.py").read_text())
    example = re.findall(r"^(?:\{\{.*?\}\})?(?:# )?([A-Z_]+)=", (PROJECT / ".env.example").read_text(), re.M)
    assert sorted(documented) == sorted({*read, *example})
