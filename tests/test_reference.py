"""reference.md: every public name has its signature and docstring, as the code has them, and an example.

UPDATE_GOLDEN=1 writes what the code says. engine/tests/test_reference_examples.py runs the examples.
"""

import ast
import inspect
import os
import re
import subprocess
import sys

from conftest import MANUAL
from test_public_names import PUBLIC, assigned, header, names_of, origin, path_of, tree_of

PAGE = MANUAL / "reference.md"
MARK = "<!-- Above is what the code says. -->"
NAME = re.compile(rf"^### `([\w.]+)`\n\n(.*?){MARK}\n(.*?)(?=^##|\Z)", re.M | re.S)
BASES = {"agui.parts.Part", "agui.conf_sections.Section", "agui.stores.base.ThreadStore"}
OF_PARTS = {"agui.contrib.attachments.testing.attach", "agui.contrib.client.AGUIModel"}


def find(name: str) -> tuple[str, ast.stmt | None, str]:
    """The module that defines a public name, the statement, and the text below it; None for another package's."""
    module, _, own = name.rpartition(".")
    module = origin(module, own)
    if not path_of(module):
        return module, None, ""
    body = tree_of(module).body
    [(index, node)] = [(index, node) for index, node in enumerate(body) if own in names_of(node)]
    return module, node, text_after(body, index)


def text_after(body: list[ast.stmt], index: int) -> str:
    """The text that describes a field or a constant."""
    match body[index + 1 : index + 2]:
        case [ast.Expr(value=ast.Constant(value=str(text)))]:
            return inspect.cleandoc(text)
    return ""


def stub(node: ast.stmt) -> str:
    """What a user of the name sees of it, with the first paragraph of each member's text as a comment."""
    if not isinstance(node, ast.ClassDef):
        return "\n".join(header(node)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else value(node)
    members = node.body
    lines = header(node)
    of_another = any(ast.unparse(base).endswith(("Store", "Logger", "Model", "View")) for base in node.bases)
    for index, member in enumerate(members):
        if not names_of(member) or not all(map(PUBLIC.fullmatch, names_of(member))):
            continue
        is_function = isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef)
        text = (ast.get_docstring(member) or "") if is_function else text_after(members, index)
        if is_function and of_another and not text:
            continue
        comment = "".join(f"    # {line}\n" for line in text.partition("\n\n")[0].splitlines())
        lines.append(comment + "\n".join(f"    {line}" for line in header(member)))
    return "\n".join(lines)


def value(node: ast.stmt) -> str:
    text = ast.unparse(node)
    return text if len(text) < 100 else header(node)[0]


def formatted(stubs: dict[str, str]) -> dict[str, str]:
    """Each signature has its body, as ruff wants it in a stub."""
    code = "".join(f"# === {name}\n{text}\n" for name, text in stubs.items())
    code = re.sub(r"^( *(?:async )?(?:def|class) .*:)$", r"\1 ...", code, flags=re.M)
    code = re.sub(r"^(class .*:) \.\.\.\n(?= )", r"\1\n", code, flags=re.M)
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--no-cache", "--line-length=100"]
    command += ["--stdin-filename=reference.pyi", "-"]
    printed = subprocess.run(command, input=code, capture_output=True, text=True, check=True).stdout
    pieces = re.split(r"^# === (\S+)\n", printed, flags=re.M)[1:]
    return {name: text.strip() for name, text in zip(pieces[::2], pieces[1::2], strict=True)}


def describe_all(names: list[str]) -> dict[str, str]:
    """What stands below each heading."""
    found = {name: find(name) for name in names}
    texts = {}
    for name, (module, node, text) in found.items():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            text = ast.get_docstring(node) or ""
        texts[name] = text if node else f"From `{module}`."
    stubs = formatted({name: stub(node) for name, (_, node, _) in found.items() if node})
    blocks = {name: f"```python\n{code}\n```\n\n" for name, code in stubs.items()}
    return {name: blocks.get(name, "") + (f"{text}\n\n" if text else "") for name, text in texts.items()}


def test_every_public_name_is_there_once_with_an_example():
    found = NAME.findall(PAGE.read_text())
    testing = {f"agui.testing.{name}" for name in assigned("agui.testing", "__all__")}
    names = {f"agui.{name}" for name in assigned("agui", "_MODULES")} | testing | BASES | OF_PARTS
    assert sorted(name for name, _, _ in found) == sorted(names)
    for name, _, below in found:
        [example] = re.findall(r"^```python\n(.*?)^```$", below, re.M | re.S)
        assert name.rpartition(".")[2] in example, name


def test_signatures_and_texts_are_those_of_the_code():
    """UPDATE_GOLDEN=1 writes them."""
    page = PAGE.read_text()
    described = describe_all([name for name, _, _ in NAME.findall(page)])
    page = NAME.sub(lambda found: f"### `{found[1]}`\n\n{described[found[1]]}{MARK}\n{found[3]}", page)
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(page)
    assert page == PAGE.read_text()
