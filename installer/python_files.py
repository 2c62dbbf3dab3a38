"""Edits of Python files in their syntax trees: comments and formatting survive."""

from collections.abc import Iterator

import libcst as cst
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor

Literal = cst.List | cst.Tuple


def parse(text: str) -> cst.Module:
    return cst.parse_module(text)


# --- Lists of names, such as INSTALLED_APPS and urlpatterns


def extend(module: cst.Module, name: str, first: list[str], last: list[str]) -> cst.Module:
    """Add items, written in Python, to the start and the end of a module's list or tuple.

    A list that is no literal gets an assignment below its last change.
    """
    literals = _literals(module, name)
    if not literals:
        return _assign_anew(module, name, first, last)
    if first:
        new = _prepend(literals[0], first)
        module = module.deep_replace(literals[0], new)
        literals = _literals(module, name)
    if last:
        module = module.deep_replace(literals[-1], _append(literals[-1], last))
    return module


def _literals(module: cst.Module, name: str) -> list[Literal]:
    """The lists and tuples whose sum is a module's variable; [] if it isn't such a sum."""
    values = _values(module, name)
    if len(values) > 1:
        values = [value for value in values if not _reads(value, name)]
    if len(values) != 1:
        return []
    literals: list[Literal] = []
    for part in _summands(values[0]):
        if isinstance(part, cst.Name):
            named = _values(module, part.value)
            part = named[0] if len(named) == 1 else part
        if not isinstance(part, Literal):
            return []
        literals.append(part)
    return literals


def _values(module: cst.Module, name: str) -> list[cst.BaseExpression]:
    """What the statements at the top of a module assign to a name."""
    values: list[cst.BaseExpression] = []
    for statement in module.body:
        for small in _small_statements(statement):
            targets: list[cst.BaseExpression] = []
            if isinstance(small, cst.Assign):
                targets = [target.target for target in small.targets]
            elif isinstance(small, cst.AnnAssign):
                targets = [small.target]
            for target in targets:
                if isinstance(target, cst.Name) and target.value == name and small.value:
                    values.append(small.value)
    return values


def _small_statements(statement: cst.CSTNode) -> list[cst.BaseSmallStatement]:
    return list(statement.body) if isinstance(statement, cst.SimpleStatementLine) else []


def _summands(value: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Add):
        yield from _summands(value.left)
        yield from _summands(value.right)
    else:
        yield value


def _reads(value: cst.CSTNode, name: str) -> bool:
    if isinstance(value, cst.Name):
        return value.value == name
    return any(_reads(child, name) for child in value.children)


def _prepend(literal: Literal, items: list[str]) -> Literal:
    elements = _elements(items, literal)
    space = _space_between(literal)
    if not literal.elements:
        return literal.with_changes(elements=elements)
    new = [element.with_changes(comma=cst.Comma(whitespace_after=space)) for element in elements]
    return literal.with_changes(elements=[*new, *literal.elements])


def _append(literal: Literal, items: list[str]) -> Literal:
    elements = _elements(items, literal)
    if not literal.elements:
        return literal.with_changes(elements=elements)
    space = _space_between(literal)
    *others, last = literal.elements
    comma = last.comma
    if isinstance(comma, cst.Comma):
        # A comment behind the last item stays behind it, and comments below it stay below it.
        end = comma.whitespace_after
        if isinstance(end, cst.ParenthesizedWhitespace) and _is_broken(space):
            between = end.with_changes(last_line=space.last_line)
            end = cst.ParenthesizedWhitespace(indent=end.indent, last_line=end.last_line)
        else:
            between = space
        last = last.with_changes(comma=comma.with_changes(whitespace_after=between))
        final = cst.Comma(whitespace_after=end)
    else:
        last = last.with_changes(comma=cst.Comma(whitespace_after=space))
        final = cst.MaybeSentinel.DEFAULT
    new = [element.with_changes(comma=cst.Comma(whitespace_after=space)) for element in elements]
    new[-1] = new[-1].with_changes(comma=final)
    return literal.with_changes(elements=[*others, last, *new])


def _elements(items: list[str], literal: Literal) -> list[cst.BaseElement]:
    """New elements, in the quotes that the literal has."""
    quote = '"'
    for element in literal.elements:
        if isinstance(element.value, cst.SimpleString):
            quote = element.value.quote
            break
    text = ",".join(items)
    if quote == "'":
        text = text.replace('"', "'")
    parsed = cst.ensure_type(cst.parse_expression(f"[{text}]"), cst.List)
    return [element.with_changes(comma=cst.MaybeSentinel.DEFAULT) for element in parsed.elements]


def _space_between(literal: Literal) -> cst.BaseParenthesizableWhitespace:
    """What separates two items: a line break with the indentation of the first item, or a space."""
    if isinstance(literal, cst.List):
        space = literal.lbracket.whitespace_after
    elif literal.lpar:
        space = literal.lpar[0].whitespace_after
    else:
        space = cst.SimpleWhitespace(" ")
    if isinstance(space, cst.ParenthesizedWhitespace):
        return cst.ParenthesizedWhitespace(indent=space.indent, last_line=space.last_line)
    return cst.SimpleWhitespace(" ")


def _is_broken(space: cst.BaseParenthesizableWhitespace) -> bool:
    return isinstance(space, cst.ParenthesizedWhitespace)


def _assign_anew(module: cst.Module, name: str, first: list[str], last: list[str]) -> cst.Module:
    items = [*first, f"*{name}", *last]
    if len(items) > 2:
        text = "".join(f"    {item},\n" for item in items)
        return insert_below(module, name, [f"{name} = [\n{text}]\n"])
    return insert_below(module, name, [f"{name} = [{', '.join(items)}]\n"])


# --- Statements


def assigns(module: cst.Module, name: str) -> bool:
    """Whether a module assigns or extends this variable, in a block or not."""
    return _last_change(module, name) is not None


def defines(module: cst.Module, name: str) -> bool:
    """Whether a module gives this variable a value that is not made from its former one."""
    return any(not _reads(value, name) for value in _values(module, name))


def _last_change(module: cst.Module, name: str) -> int | None:
    """The position of the last statement at the top of a module that changes a variable."""
    changes = _Changes(name)
    last = None
    for position, statement in enumerate(module.body):
        changes.found = False
        statement.visit(changes)
        if changes.found:
            last = position
    return last


class _Changes(cst.CSTVisitor):
    """Looks for an assignment to a name, or for a call of one of its methods."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.found = False

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return False

    def visit_ClassDef(self, node: cst.ClassDef) -> bool:
        return False

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self._look_at(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self._look_at(node.target)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self._look_at(node.target)

    def visit_Attribute(self, node: cst.Attribute) -> None:
        if node.attr.value in ("append", "extend", "insert", "remove"):
            self._look_at(node.value)

    def _look_at(self, target: cst.CSTNode) -> None:
        if isinstance(target, cst.Name) and target.value == self.name:
            self.found = True


def insert_below(module: cst.Module, name: str, statements: list[str]) -> cst.Module:
    """Insert statements below the last change of a variable, else at the end of the module."""
    last = _last_change(module, name)
    position = len(module.body) if last is None else last + 1
    new = [cst.parse_statement(text, config=module.config_for_parsing) for text in statements]
    return module.with_changes(body=[*module.body[:position], *new, *module.body[position:]])


def add_import(module: cst.Module, package: str, name: str | None = None) -> cst.Module:
    """Import a name, beside what the module imports from the same package."""
    context = CodemodContext()
    AddImportsVisitor.add_needed_import(context, package, name)
    return AddImportsVisitor(context).transform_module(module)


def move_import(module: cst.Module, name: str, old: str, new: str) -> cst.Module | None:
    """Import a name from another package. None if the module doesn't import exactly it."""
    move = _MoveImport(name, old, new)
    changed = module.visit(move)
    return changed if move.is_done else None


class _MoveImport(cst.CSTTransformer):
    def __init__(self, name: str, old: str, new: str) -> None:
        super().__init__()
        self.name, self.old, self.new = name, old, new
        self.is_done = False

    def leave_ImportFrom(self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom) -> cst.ImportFrom:
        names = updated_node.names
        if updated_node.module is None or isinstance(names, cst.ImportStar):
            return updated_node
        is_only_name = len(names) == 1 and names[0].evaluated_name == self.name
        if cst.Module([]).code_for_node(updated_node.module) != self.old or not is_only_name:
            return updated_node
        self.is_done = True
        return updated_node.with_changes(module=cst.parse_expression(self.new))


def sources(module: cst.Module, name: str) -> list[str]:
    """The packages from which the imports at a module's top take a name; "" is an assignment or a module."""
    found = [""] if _values(module, name) else []
    for statement in module.body:
        for small in _small_statements(statement):
            if not isinstance(small, cst.Import | cst.ImportFrom) or isinstance(small.names, cst.ImportStar):
                continue
            package = ""
            if isinstance(small, cst.ImportFrom) and small.module is not None:
                package = module.code_for_node(small.module)
            for alias in small.names:
                bound = alias.evaluated_alias or alias.evaluated_name
                if bound.partition(".")[0] == name:
                    found.append(package)
    return found
