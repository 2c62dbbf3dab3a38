"""What projects may use of the engine: what its packages export, and what the manual and the template import.

A change of such a signature changes a line of tests/golden/public.txt, where a reviewer sees it.
"""

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

from conftest import ENGINE, MANUAL, ROOT, TEMPLATE_NAME

GOLDEN = ROOT / "tests/golden/public.txt"
IMPORT = re.compile(r"^ *from (agui[\w.]*) import (?:\(([^)]*)\)|(.*))$", re.MULTILINE)
PUBLIC = re.compile(r"[A-Za-z]\w*|__(init|call)__")


def test_public_signatures_stay_as_they_are():
    """UPDATE_GOLDEN=1 keeps the new ones."""
    lines = []
    for module, name in sorted(public_names()):
        lines += [f"{module}.{name}", *(f"    {line}" for line in describe(module, name)), ""]
    text = "\n".join(lines)
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


def public_names() -> set[tuple[str, str]]:
    names = {("agui", name) for name in assigned("agui", "_MODULES")}
    for package in ("agui.testing", "agui.contrib.client"):
        names |= {(package, name) for name in assigned(package, "__all__")}
    # What the methods of a part get and return.
    names |= {
        ("agui.part_values", node.name) for node in tree_of("agui.part_values").body if isinstance(node, ast.ClassDef)
    }
    for page in [*MANUAL.rglob("*.md"), *(ROOT / TEMPLATE_NAME).rglob("*.py")]:
        for module, several, one in IMPORT.findall(page.read_text()):
            imported = re.sub(r"#.*| as \w+", "", several or one)
            names |= {(module, name) for name in re.findall(r"\w+", imported)}
    return {(module, name) for module, name in names if not path_of(f"{module}.{name}")}


def path_of(module: str) -> Path | None:
    path = ENGINE.parent / module.replace(".", "/")
    return next((found for found in (path.with_suffix(".py"), path / "__init__.py") if found.exists()), None)


def tree_of(module: str) -> ast.Module:
    path = path_of(module)
    assert path, module
    return ast.parse(path.read_text())


def assigned(module: str, name: str):
    """The value of a literal."""
    [value] = [node.value for node in tree_of(module).body if isinstance(node, ast.Assign) and names_of(node) == [name]]
    return ast.literal_eval(value)


def names_of(node: ast.stmt) -> list[str]:
    """What a statement defines or imports."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.ImportFrom():
            return [one.asname or one.name for one in node.names]
    return []


def origin(module: str, name: str) -> str:
    """The module that defines a name which another one may only import."""
    if module in ("agui", "agui.contrib.client"):  # They import what they export on first use.
        source = assigned(module, "_MODULES")[name]
        module = f"{module}.{source}" if path_of(f"{module}.{source}") else source
    for node in tree_of(module).body if path_of(module) else ():
        if isinstance(node, ast.ImportFrom) and name in names_of(node):
            return origin(str(node.module), name)
    return module


def describe(module: str, name: str) -> Iterator[str]:
    """The signature of a name, wherever it is defined."""
    module = origin(module, name)
    if not path_of(module):
        yield f"from {module}"
        return
    found = [node for node in tree_of(module).body if name in names_of(node)]
    assert found, f"{module} has no {name}"
    for node in found:
        members = node.body if isinstance(node, ast.ClassDef) else []
        yield from header(node)
        for member in members:
            if all(map(PUBLIC.fullmatch, names_of(member) or ["_"])):
                yield from (f"    {line}" for line in header(member))


def header(node: ast.stmt) -> list[str]:
    """A statement without its body, its texts and its columns, which migrations have."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        node.body = [ast.Pass()]
        return ast.unparse(node).splitlines()[:-1]
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.Call):
        node.value = ast.Constant(...)
    return ast.unparse(node).splitlines()
