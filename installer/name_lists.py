"""Edits of lists and tuples, such as INSTALLED_APPS and urlpatterns, in their syntax trees."""

from collections.abc import Iterator

import libcst as cst

from installer import python_files

Literal = cst.List | cst.Tuple


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


def remove(module: cst.Module, name: str, values: list[str]) -> cst.Module:
    """Remove strings from a module's list or tuple; a list that is no literal stays as it is."""
    for literal in _literals(module, name):
        kept = []
        for element in literal.elements:
            if (
                not isinstance(element.value, cst.SimpleString)
                or element.value.evaluated_value not in values
            ):
                kept.append(element)
        module = module.deep_replace(literal, _with_elements(literal, kept))
    return module


def _with_elements(literal: Literal, kept: list[cst.BaseElement]) -> Literal:
    """The list with some of its elements; the comment behind the last of them stays behind it."""
    last = literal.elements[-1]
    if kept and kept[-1] is not last:
        end, space = _space_at_end(literal), kept[-1].comma.whitespace_after
        if _is_broken(end) and _is_broken(space):
            literal = _end_with(literal, space.with_changes(last_line=end.last_line))
        kept = [*kept[:-1], kept[-1].with_changes(comma=last.comma)]
    return literal.with_changes(elements=kept)


def _literals(module: cst.Module, name: str) -> list[Literal]:
    """The lists and tuples whose sum is a module's variable; [] if it isn't such a sum."""
    values = python_files.values(module, name)
    wrapping = [value for value in values if _wraps(value, name)]
    if wrapping:
        values = wrapping[-1:]
    elif len(values) > 1:
        values = [value for value in values if not python_files.reads(value, name)]
    if len(values) != 1:
        return []
    literals: list[Literal] = []
    for part in _summands(values[0]):
        if isinstance(part, cst.Name):
            named = python_files.values(module, part.value)
            part = named[0] if len(named) == 1 else part
        if not isinstance(part, Literal):
            return []
        literals.append(part)
    return literals


def _wraps(value: cst.BaseExpression, name: str) -> bool:
    """Whether a list has the former list within an item: `[path("", include(urlpatterns))]`."""
    return isinstance(value, Literal) and any(
        isinstance(element, cst.Element) and python_files.reads(element.value, name)
        for element in value.elements
    )


def _summands(value: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Add):
        yield from _summands(value.left)
        yield from _summands(value.right)
    else:
        yield value


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
    space = between = _space_between(literal)
    *others, last = literal.elements
    end = _space_at_end(literal)
    if _is_broken(space) and _is_broken(end):
        # A comment behind the last item stays behind it, and comments below it stay below it.
        between = end.with_changes(last_line=space.last_line)
        end = cst.ParenthesizedWhitespace(indent=end.indent, last_line=end.last_line)
    new = [element.with_changes(comma=cst.Comma(whitespace_after=space)) for element in elements]
    new[-1] = new[-1].with_changes(comma=last.comma)
    last = last.with_changes(comma=cst.Comma(whitespace_after=between))
    return _end_with(literal.with_changes(elements=[*others, last, *new]), end)


def _space_at_end(literal: Literal) -> cst.BaseParenthesizableWhitespace:
    """What is between the last item and the bracket."""
    if isinstance(literal, cst.List):
        return literal.rbracket.whitespace_before
    return literal.rpar[0].whitespace_before if literal.rpar else cst.SimpleWhitespace("")


def _end_with(literal: Literal, space: cst.BaseParenthesizableWhitespace) -> Literal:
    if isinstance(literal, cst.List):
        return literal.with_deep_changes(literal.rbracket, whitespace_before=space)
    return (
        literal.with_deep_changes(literal.rpar[0], whitespace_before=space)
        if literal.rpar
        else literal
    )


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
        return python_files.insert_below(module, name, [f"{name} = [\n{text}]\n"])
    return python_files.insert_below(module, name, [f"{name} = [{', '.join(items)}]\n"])
