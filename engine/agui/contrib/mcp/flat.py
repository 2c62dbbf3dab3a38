"""The form of a question: MCP's forms are flat, and a schema of pydantic may be anything."""

from typing import Any

from agui.tools.foreign_schemas import resolve

ANSWER = "answer"
"""The field of an answer that is no object."""
PRIMITIVE = ("string", "number", "integer", "boolean")
FORMATS = ("email", "uri", "date", "date-time")
KEPT = (
    "type",
    "title",
    "description",
    "default",
    "enum",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
)


class NotFlat(Exception):
    """A schema that no form of MCP has."""


def form_of(schema: dict[str, Any] | None) -> tuple[dict[str, Any], bool]:
    """Return the form for answers with this schema, and whether it has to wrap them.

    Raises NotFlat.
    """
    whole = schema or {"type": "string"}
    resolved = _resolved(whole, whole)
    if resolved.get("type") != "object":
        return {
            "type": "object",
            "properties": {ANSWER: {"title": "Answer", **_field(resolved, whole)}},
            "required": [ANSWER],
        }, True
    properties = {}
    for name, part in (resolved.get("properties") or {}).items():
        properties[name] = _field(_resolved(part, whole), whole)
    if not properties:
        raise NotFlat
    return {
        "type": "object",
        "properties": properties,
        "required": list(resolved.get("required") or ()),
    }, False


def _resolved(part: Any, whole: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(part, dict):
        raise NotFlat
    pointer = part.get("$ref")
    if not isinstance(pointer, str):
        return part
    target = resolve(whole, pointer)
    if not isinstance(target, dict):
        raise NotFlat
    others = {key: value for key, value in part.items() if key != "$ref"}
    return {**target, **others}


def _field(part: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    if "const" in part:
        part = {**part, "enum": [part["const"]]}
    field = {key: part[key] for key in KEPT if key in part}
    kind = part.get("type")
    if kind == "array":
        items = _resolved(part.get("items"), whole)
        if items.get("type") != "string" or not items.get("enum"):
            raise NotFlat
        return {**field, "items": {"type": "string", "enum": items["enum"]}}
    if kind not in PRIMITIVE or ("enum" in part and kind != "string"):
        raise NotFlat
    if part.get("format") in FORMATS:
        field["format"] = part["format"]
    return field
