"""The changes of one statement that mutants.py makes, in Python and in JavaScript."""

import ast
import re
from collections.abc import Callable, Iterator

# The first and last line of a statement, the text of these lines, and the text that takes its place.
Change = tuple[int, int, str, str]
TURNED = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: ">=", ast.GtE: "<", ast.Gt: "<=", ast.LtE: ">",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip


def python_changes(text: str) -> Iterator[Change]:
    """Yield the changes of statements inside functions."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    data = text.encode()

    def place(node: ast.AST) -> tuple[int, int]:
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset

    for node in inside_functions(ast.parse(text)):
        for target, replacement in replacements(node, lambda part: data[slice(*place(part))].decode()):
            start, end = place(target)
            first, last = target.lineno, target.end_lineno
            changed = data[starts[first - 1] : start] + replacement.encode() + data[end : starts[last]]
            yield first, last, "".join(lines[first - 1 : last]), changed.decode()


def inside_functions(tree: ast.Module) -> Iterator[ast.AST]:
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in function.body:
                yield from (node for node in ast.walk(statement) if hasattr(node, "lineno"))


def replacements(node: ast.AST, source: Callable[[ast.AST], str]) -> Iterator[tuple[ast.AST, str]]:
    match node:
        case ast.Compare(left, [operator], [right]) if type(operator) in TURNED:
            yield node, f"{source(left)} {TURNED[type(operator)]} {source(right)}"
        case ast.BoolOp(op, [*values]):
            yield node, (" or " if isinstance(op, ast.And) else " and ").join(f"({source(value)})" for value in values)
        case ast.UnaryOp(ast.Not(), operand):
            yield node, f"({source(operand)})"
        case ast.If(test) | ast.IfExp(test):
            yield test, f"(not ({source(test)}))"
        case ast.Return(value) if value is not None and source(value) != "None":
            yield node, "return None"
        case ast.Constant(bool() as value):
            yield node, str(not value)
        case ast.Constant(int() as value):
            yield node, str(value + 1)
        case ast.Expr(ast.Call() | ast.Await()) | ast.AugAssign() | ast.Raise():
            yield node, "pass"
        case ast.BinOp(left, ast.Add() | ast.Sub() as operator, right):
            sign = "-" if isinstance(operator, ast.Add) else "+"
            yield node, f"{source(left)} {sign} {source(right)}"


JAVASCRIPT = [
    (r"===", "!=="), (r"!==", "==="), (r"&&", "||"), (r"\|\|", "&&"), (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
    (r"(?<![=<])<=? ", "> "), (r"(?<=[\w)]) \+ 1\b", " - 1"), (r"\bif (\(.*\)) \{$", r"if (!\1) {"),
    (r"^(\s+)return [^;{(]+;$", r"\1return;"),
    (r"^(\s+)(?:await )?[\w.#]+\([^;]*\);$", r"\1;"), (r" \?\? ", " && "),
]  # fmt: skip


def javascript_changes(text: str) -> Iterator[Change]:
    """Yield the changes of single lines of a module that are no comment and no import."""
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if re.match(r"\s*(//|/?\*|import |export \{)|\S*$", line):
            continue
        code = line.rstrip("\n").partition(" // ")[0]
        for pattern, replacement in JAVASCRIPT:
            for match in re.finditer(pattern, code):
                in_a_string = any(code[: match.start()].count(quote) % 2 for quote in "\"'`")
                if not in_a_string:
                    changed = code[: match.start()] + match.expand(replacement) + code[match.end() :]
                    yield number, number, line, changed + "\n"
