"""Edits of Python files in their syntax trees: comments and formatting survive."""

import libcst as cst
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor


def parse(text: str) -> cst.Module:
    return cst.parse_module(text)


def values(module: cst.Module, name: str) -> list[cst.BaseExpression]:
    """What the statements at the top of a module assign to a name."""
    assigned: list[cst.BaseExpression] = []
    for statement in module.body:
        for small in _small_statements(statement):
            targets: list[cst.BaseExpression] = []
            if isinstance(small, cst.Assign):
                targets = [target.target for target in small.targets]
            elif isinstance(small, cst.AnnAssign):
                targets = [small.target]
            for target in targets:
                if isinstance(target, cst.Name) and target.value == name and small.value:
                    assigned.append(small.value)
    return assigned


def _small_statements(statement: cst.CSTNode) -> list[cst.BaseSmallStatement]:
    return list(statement.body) if isinstance(statement, cst.SimpleStatementLine) else []


def reads(value: cst.CSTNode, name: str) -> bool:
    if isinstance(value, cst.Name):
        return value.value == name
    return any(reads(child, name) for child in value.children)


def assigns(module: cst.Module, name: str) -> bool:
    """Whether a module assigns or extends this variable, in a block or not."""
    return _last_change(module, name) is not None


def defines(module: cst.Module, name: str) -> bool:
    """Whether a module gives this variable a value that is not made from its former one."""
    return any(not reads(value, name) for value in values(module, name))


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
    """Insert statements below the last change of a variable, or at the end of the module."""
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

    def leave_ImportFrom(
        self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom
    ) -> cst.ImportFrom:
        names = updated_node.names
        if updated_node.module is None or isinstance(names, cst.ImportStar):
            return updated_node
        is_only_name = len(names) == 1 and names[0].evaluated_name == self.name
        if cst.Module([]).code_for_node(updated_node.module) != self.old or not is_only_name:
            return updated_node
        self.is_done = True
        return updated_node.with_changes(module=cst.parse_expression(self.new))


def sources(module: cst.Module, name: str) -> list[str]:
    """The packages from which a module's top imports a name; "" is an assignment or a module."""
    found = [""] if values(module, name) else []
    for statement in module.body:
        for small in _small_statements(statement):
            if not isinstance(small, cst.Import | cst.ImportFrom) or isinstance(
                small.names, cst.ImportStar
            ):
                continue
            package = ""
            if isinstance(small, cst.ImportFrom) and small.module is not None:
                package = module.code_for_node(small.module)
            for alias in small.names:
                bound = alias.evaluated_alias or alias.evaluated_name
                if bound.partition(".")[0] == name:
                    found.append(package)
    return found
