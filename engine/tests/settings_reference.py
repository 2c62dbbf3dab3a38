"""Write the tables of agui/manual/settings.md anew: `make settings` in the repository's root."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import django
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from agui import conf, parts
from agui.money import Dollars

MARK = "<!-- What follows is written by `make settings` in the template. -->\n"
BOUNDS = {"gt": "above", "ge": "from", "le": "to"}  # As pydantic names them


def tables() -> str:
    """One section for each model of settings, those of parts included, that of AGUI itself first."""
    settings: type[BaseModel] = type(conf.get())
    names = {settings: "AGUI"}
    models = [settings]
    owners = {part.settings: part.name.rpartition(".")[2] for part in parts.installed() if part.settings}
    for model in models:  # The list grows during the loop.
        for key, field in model.model_fields.items():
            for one in sections_in(field.annotation):
                if one not in models:
                    models.append(one)
                    names[one] = f'{names[model]}["{key.upper()}"]'
                    owners.setdefault(one, owners.get(model, ""))
    return "\n".join(section(names[model], model, owners.get(model, "")) for model in models)


def section(name: str, model: type[BaseModel], part: str) -> str:
    summary = (model.__doc__ or "").strip().splitlines()[0]
    variables = getattr(model, "environment", {})
    rows = [row(key.upper(), field, variables.get(key)) for key, field in model.model_fields.items()]
    label = f"*Part `{part}`.*\n\n" if part else ""
    head = f"## `{name}`\n\n{label}{summary}\n\n| key | type | default | what it does |\n|---|---|---|---|\n"
    return head + "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n" for cells in rows)


def row(key: str, field: FieldInfo, variable: str | None) -> tuple[str, str, str, str]:
    default = "required" if field.is_required() else code(field.get_default(call_default_factory=True))
    found = [(word, getattr(one, name, None)) for one in field.metadata for name, word in BOUNDS.items()]
    bounds = [f"{word} {bound}" for word, bound in found if bound is not None]
    told = f"{field.description} `{variable}` in the environment." if variable else field.description or ""
    return f"`{key}`", ", ".join([type_name(field.annotation), *bounds]), default, told


def code(value: Any) -> str:
    if isinstance(value, BaseModel):
        return "each its own"
    return f"`{value!r}`".replace("'", '"')


def type_name(annotation: Any) -> str:
    """Say an annotation in words."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return " or ".join(type_name(one) for one in arguments)
    if origin is Annotated:
        return "US dollars" if annotation == Dollars else type_name(arguments[0])
    if origin is Literal:
        return ", ".join(code(one) for one in arguments)
    if origin is list:
        return f"list of {type_name(arguments[0])}"
    if origin is dict:
        return f"dict of {type_name(arguments[1])} by name"
    if annotation is NoneType:
        return "`None`"
    if issubclass(annotation, BaseModel):
        return "section"
    return f"`{annotation.__name__}`"


def sections_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for one in get_args(annotation):
        yield from sections_in(one)


def written(page: str) -> str:
    """The page as it should be."""
    above, _, _ = page.partition(MARK)
    return above + MARK + "\n" + tables()


if __name__ == "__main__":
    django.setup()
    path = Path(sys.argv[1])
    path.write_text(written(path.read_text()))
