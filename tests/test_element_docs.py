"""The manual of the element, agui/manual/page.md: all that it names is there, and all that is there is named."""

import ast
import re

import pytest
from conftest import ENGINE, MANUAL, element_modules

STATIC = ENGINE / "static/agui"
PAGE = (MANUAL / "page.md").read_text()
ELEMENT = (STATIC / "agui-chat.js").read_text()
HEADER = (STATIC / "agui-chat.d.ts").read_text().partition("\n/**")[2].partition("*/")[0]
CODE = "\n".join(path.read_text() for path in element_modules())
STYLE = "\n".join(path.read_text() for path in sorted(STATIC.glob("*.css")))


def named(heading: str, first_head: str) -> set[str]:
    """What the first column of a table names."""
    section = re.split(r"^## ", PAGE.split(f"\n## {heading}\n")[1], flags=re.M)[0]
    rows = section.split(f"\n| {first_head} |")[1].split("\n\n")[0].splitlines()[2:]
    return {name for row in rows for name in re.findall(r"`([\w-]+)[^`]*`", row.split("|")[1])}


def in_header(tag: str) -> set[str]:
    """What the comment at the top of the element names."""
    found = re.findall(rf"@{tag} ((?:[^@]|\n)*?)(?= - |\n \*\n|\n \* @|$)", HEADER)
    return set(re.findall(r"--[\w-]+|[a-z][\w-]+", " ".join(found)))


def attribute(name: str) -> str:
    """`toolsUrl` of a dataset as it is written."""
    return "data-" + re.sub("[A-Z]", lambda hit: f"-{hit[0].lower()}", name)


def test_attributes():
    documented = named("Attributes", "attribute")
    datasets = re.findall(r"(?:this|chat|#host|host)\.dataset\.(\w+)", CODE)
    for fields in re.findall(r"const \{([^{}]*)\} = this\.dataset;", CODE):
        datasets += [re.split("[:=]", field)[0].strip() for field in fields.split(",") if field.strip()]
    plain = re.findall(r"(?:this|host)\.(?:get|has|toggle)Attribute\(\"([\w-]+)\"", CODE)
    styled = set(re.findall(r":host\(\[([\w-]+)", STYLE)) - {"hidden"}
    read = {*map(attribute, datasets), *plain, *styled, "lang"}
    assert documented == read == in_header("attr")


def test_attributes_that_the_template_sets_are_marked():
    template = (ENGINE / "templates/agui/attributes.html").read_text()
    tags = [ENGINE / "templatetags/agui.py", *ENGINE.glob("contrib/*/apps.py")]
    code = "".join(path.read_text() for path in tags)
    rows = re.findall(r"^\| `([\w-]+)` \|.*\| (yes|if .*) \|$", PAGE, re.M)
    assert dict(rows).keys() == {
        *re.findall(r"^([a-z-]+)(?:=|$)", template, re.M),
        *re.findall(r"\"(data-[\w-]+|endpoint)\":", code),
    }


def test_modules_of_parts_have_the_names_that_the_page_asks_for():
    asked = set(re.findall(r"moduleOf\([\w.]+, \"([\w-]+)\"", CODE))
    named = {}
    for path in ENGINE.glob("contrib/*/apps.py"):
        for modules in re.findall(r"^    page_modules = (\{.*?\})$", path.read_text(), re.MULTILINE | re.DOTALL):
            named |= {name: path.parent / "static" / module for name, module in ast.literal_eval(modules).items()}
    # A place, such as "composer:", may have a module of each part.
    types = (STATIC / "types.d.ts").read_text()
    places = set(re.findall(r"\[\w+: `(\w+):\$\{string\}`\]: \w+Module;", types))
    assert {name for name in named if ":" not in name} == asked
    assert {name.partition(":")[0] for name in named if ":" in name} == places
    table = (MANUAL / "parts.md").read_text().split("| name | the module exports |")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+):<", table, re.MULTILINE)) == places
    assert [place for place in places if not re.search(rf"""["`]{place}[":]""", CODE)] == []
    assert [module for module in named.values() if not module.exists()] == []


def test_events():
    assert named("Events", "event") == set(re.findall(r"\"(ag-ui-[\w-]+)\"", CODE)) == in_header("event")


@pytest.mark.parametrize("kind", ["parts", "custom property", "slot"])
def test_what_a_page_can_change_of_the_look(kind):
    section = PAGE.split("\n## Look\n")[1].split("\n## ")[0]
    found = section.split(f"\n| {kind} |")[1].split("\n\n")[0]
    documented = set(re.findall(r"`([\w-]+)`", found.split("\n", 2)[2]))
    if kind == "parts":
        there, header = set(re.findall(r"\bpart: \"([\w-]+)\"", CODE)), in_header("csspart")
    elif kind == "slot":
        named = re.findall(r"h\(\"slot\", \{ name: \"([\w-]+)\"|\[slot=([\w-]+)\]", CODE)
        there, header = {slot or copied for slot, copied in named}, in_header("slot")
    else:
        there = {name for name in re.findall(r"--agui-[\w-]+", CODE + STYLE) if not name.endswith("-")}
        header = in_header("cssprop") | {"--agui-docked-width"}
        header = {name for name in header if name.startswith("--")}
    assert documented == there == header


def test_methods_and_properties():
    body = ELEMENT.split("--- What a page may use or override")[1].split("  // --- ")[0]
    methods = re.findall(r"^  (?:async |get |set )?(\w+)\(.*\{$", body, re.M)
    fields = re.findall(r"^  (\w+) = ", ELEMENT.split("// --- ")[0], re.M)
    section = PAGE.split("\n## Methods and properties\n")[1].split("\n## ")[0]
    rows = [row.split("|")[1] for row in section.splitlines() if row.startswith("| `")]
    # The element calls this one if the page has set it.
    of_the_page = "getSkillContext"
    assert f"host.{of_the_page}()" in (STATIC / "composer/palette.js").read_text()
    assert {name for row in rows for name in re.findall(r"`(\w+)", row)} == {*methods, *fields, of_the_page}


def test_what_a_tool_is_made_of():
    declared = (STATIC / "agui-chat.d.ts").read_text().split("export interface PageTool {\n")[1].split("\n}\n")[0]
    assert named("Tools of the page", "of a tool") == set(re.findall(r"^  (\w+)(?:\??: |\()", declared, re.M))
