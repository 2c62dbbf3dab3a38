"""How much there is to read: lines of a project by what they are, and how dense the engine's Python is.

Run it with any Python: python benchmarks/density.py [a project's folder, or a package to compare with]
"""

import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ENGINE = Path(__file__).parents[1] / "engine"
# What is installed or made, and what is not read.
NOT_READ = {".venv", ".git", "__pycache__", "node_modules", "migrations", "tests"}
LAYOUT = {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER}
COMPREHENSIONS = ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp


@dataclass
class Density:
    """Counts of some Python modules. A line of code has a token that is neither a comment nor of a docstring."""

    lines: int = 0
    code: int = 0
    comments: int = 0
    tokens: int = 0
    comprehensions: int = 0
    conditionals: int = 0
    long: int = 0
    modules: Counter[str] = field(default_factory=Counter)

    @property
    def tokens_a_line(self) -> float:
        return self.tokens / self.code

    @property
    def comprehensions_a_thousand(self) -> float:
        return 1000 * self.comprehensions / self.code

    @property
    def conditionals_a_thousand(self) -> float:
        return 1000 * self.conditionals / self.code

    @property
    def comment_share(self) -> float:
        return self.comments / self.lines

    def add(self, name: str, text: str) -> None:
        tree = ast.parse(text)
        docstrings = _docstring_lines(tree)
        lines = text.splitlines()
        self.modules[name] = len(lines)
        self.lines += len(lines)
        self.long += sum(len(line) > 100 for line in lines)
        code = set()
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                self.comments += 1
            elif token.type not in LAYOUT and token.start[0] not in docstrings:
                self.tokens += 1
                code.update(range(token.start[0], token.end[0] + 1))
        self.code += len(code)
        for node in ast.walk(tree):
            self.comprehensions += isinstance(node, COMPREHENSIONS)
            self.conditionals += isinstance(node, ast.IfExp)


def _docstring_lines(tree: ast.Module) -> set[int]:
    """The lines of strings that are statements: docstrings, also those of attributes."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def measure(*paths: Path) -> Density:
    """The density of Python modules, by path; of folders, all that are in them."""
    density = Density()
    for path in paths:
        for module in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if not NOT_READ & set(module.relative_to(path).parts):
                density.add(str(module), module.read_text())
    return density


def core(package: Path) -> Density:
    """The density of the engine without its parts."""
    modules = package.iterdir()
    return measure(
        *(
            path
            for path in modules
            if path.name not in {"contrib", *NOT_READ} and (path.is_dir() or path.suffix == ".py")
        )
    )


def parts(package: Path) -> dict[str, Density]:
    folders = (path for path in (package / "contrib").glob("*") if (path / "apps.py").exists())
    return {path.name: measure(path) for path in sorted(folders)}


def text_files(project: Path) -> Iterator[tuple[Path, int]]:
    """All text files of a project, each with its lines, tests and migrations included."""
    for path in sorted(project.rglob("*")):
        hidden = {".venv", ".git", "__pycache__", "node_modules", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
        if path.is_file() and not hidden & set(path.relative_to(project).parts):
            data = path.read_bytes()
            if b"\0" not in data:
                yield path, data.count(b"\n")


def show(name: str, density: Density) -> None:
    largest, lines = density.modules.most_common(1)[0]
    print(
        f"{name:<14}{density.lines:>7}{density.tokens_a_line:>8.2f}{density.comprehensions_a_thousand:>8.1f}"
        f"{density.conditionals_a_thousand:>8.1f}{density.comment_share:>8.1%}{density.long:>6}{lines:>6}  "
        f"{Path(largest).name}"
    )


def main(folder: Path) -> None:
    print(f"{'Python':<14}{'lines':>7}{'tokens':>8}{'compr.':>8}{'cond.':>8}{'notes':>8}{'>100':>6}{'max':>6}")
    if not (folder / "agui").is_dir():
        show(folder.name, measure(folder))
        return
    show("core", core(folder / "agui"))
    for name, density in parts(folder / "agui").items():
        show(name, density)
    by_kind: Counter[str] = Counter()
    for path, lines in text_files(folder):
        by_kind[path.suffix or path.name] += lines
    print(f"\nLines of all text files: {by_kind.total()}")
    for kind, lines in by_kind.most_common(8):
        print(f"{lines:>7} {kind}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else ENGINE)
