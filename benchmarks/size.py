"""How large the engine is, and how much of it there is to know at once: lines, imports and hooks.

Run it with any Python: python benchmarks/size.py [the folder of a package agui]
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

AGUI = Path(__file__).parents[1] / "engine/agui"
# What serves no request: the tests of a project and of a store, and how the engine is packed.
ASIDE = {"contrib", "migrations", "testing", "distribution", "contract.py", "contract_tests.py"}
VIEW = "agui.http.views"


def modules(package: Path, without: set[str]) -> list[Path]:
    return [path for path in sorted(package.rglob("*.py")) if not without & set(path.relative_to(package).parts)]


def lines(paths: list[Path]) -> int:
    return sum(path.read_text().count("\n") for path in paths)


def trees(paths: list[Path]) -> Iterator[ast.Module]:
    for path in paths:
        yield ast.parse(path.read_text())


def closure(package: Path, module: str) -> set[Path]:
    """The modules that an import of one brings, also those that a function imports later; not what types alone need."""
    found: set[Path] = set()
    left = [module]
    while left:
        name = left.pop()
        path = package.parent / name.replace(".", "/")
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if name.partition(".")[0] == package.name and path.exists() and path not in found:
            found.add(path)
            left += imported(ast.parse(path.read_text()))
    return {path for path in found if path.name != "__init__.py"}


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
        else:
            yield from imported(node)


def classes(paths: list[Path]) -> Iterator[ast.ClassDef]:
    for tree in trees(paths):
        yield from (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def methods(cls: ast.ClassDef) -> list[str]:
    functions = (node for node in cls.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return [node.name for node in functions if not node.name.startswith("_")]


def hooks(package: Path) -> Counter[str]:
    """The hooks of Part, each with the number of parts that have it."""
    [part] = (cls for cls in classes([package / "parts.py"]) if cls.name == "Part")
    counts = Counter(dict.fromkeys(set(methods(part)) - {"key", "ready"}, 0))
    configs = [path for path in (package / "contrib").rglob("*.py") if path.name in {"apps.py", "agui_part.py"}]
    for cls in classes(configs):
        counts.update(set(methods(cls)) & set(counts))
    return counts


def context_variables(paths: list[Path]) -> int:
    return sum(
        isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "ContextVar"
        for tree in trees(paths)
        for node in ast.walk(tree)
    )


def uses(paths: list[Path], name: str) -> int:
    return sum(isinstance(node, ast.Name) and node.id == name for tree in trees(paths) for node in ast.walk(tree))


def measure(package: Path) -> dict[str, int]:
    serving = modules(package, ASIDE)
    core = modules(package, {"contrib", "migrations"})
    loaded = sorted(closure(package, VIEW))
    counts = hooks(package)
    return {
        "lines that serve": lines(serving),
        "lines of parts": lines(modules(package / "contrib", {"migrations"})),
        "modules that the view imports": len(loaded),
        "their lines": lines(loaded),
        "hooks of Part": len(counts),
        "hooks that one part has": sum(count == 1 for count in counts.values()),
        "context variables": context_variables(serving),
        "uses of Any in the core": uses(core, "Any"),
    }


if __name__ == "__main__":
    for name, figure in measure(Path(sys.argv[1]) if sys.argv[1:] else AGUI).items():
        print(f"{figure:>7} {name}")
