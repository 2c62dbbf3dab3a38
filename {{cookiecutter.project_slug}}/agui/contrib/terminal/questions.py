"""Approvals and questions, put to the person: from AG-UI's interrupts to the entries of a resume."""

import json
from datetime import UTC, datetime
from typing import Any

from rich.text import Text

from agui.contrib.terminal.conversation import Conversation
from agui.contrib.terminal.keyboard import Keyboard
from agui.contrib.terminal.printable import one_line, printable
from agui.contrib.terminal.screen import Screen

# What to type for a value of a type.
WORDS = {
    "boolean": "yes | no",
    "integer": "a whole number",
    "number": "a number",
    "array": "JSON",
    "object": "JSON",
}
DECLINED: dict[str, Any] = {"status": "cancelled"}


class Unreadable(Exception):
    """What was typed is no answer; the text says why."""


class Questions:
    """Asks what a thread waits for."""

    def __init__(self, screen: Screen, keyboard: Keyboard) -> None:
        self._screen, self._keyboard = screen, keyboard

    def ask(self, conversation: Conversation) -> list[dict[str, Any]]:
        """Ask all that is open: the server takes all answers at once. Raises EOFError and KeyboardInterrupt."""
        resume = []
        for interrupt in conversation.interrupts:
            if has_expired(interrupt):
                self._screen.fail(f"Too late to answer: {interrupt.get('message')}")
                answer = DECLINED
            elif interrupt.get("reason") == "tool_call":
                answer = self._approval(interrupt, conversation)
            else:
                answer = self._question(interrupt)
            resume.append({"interruptId": interrupt["id"], **answer})
        return resume

    def _approval(self, interrupt: dict[str, Any], conversation: Conversation) -> dict[str, Any]:
        name, arguments = called(interrupt, conversation)
        metadata = interrupt.get("metadata") or {}
        given = metadata.get("edited") or arguments
        self._screen.print(
            Text(printable(f"\n{interrupt.get('message') or 'May this run?'}"), style="bold")
        )
        # All of it, defaults included: what is approved is what was seen.
        self._screen.print(
            Text(f"  {one_line(name)} {one_line(metadata.get('arguments') or given)}")
        )
        may_edit = "editedArgs" in ((interrupt.get("responseSchema") or {}).get("properties") or {})
        choices = "[y]es, [n]o, [e]dit" if may_edit else "[y]es, [n]o"
        while True:
            match self._keyboard.answer(f"Run it? {choices}: ").strip().lower():
                case "y" | "yes":
                    return resolved({"approved": True})
                case "n" | "no":
                    reason = self._keyboard.answer("Why not? (Enter: no reason) ").strip()
                    return resolved({"approved": False, **({"reason": reason} if reason else {})})
                case "e" | "edit" if may_edit:
                    return resolved({"approved": True, "editedArgs": self._edit(given)})

    def _edit(self, arguments: str) -> dict[str, Any]:
        while True:
            arguments = self._keyboard.answer("Arguments: ", arguments)
            try:
                edited = json.loads(arguments)
            except ValueError as error:
                self._screen.fail(f"That is not JSON: {error}")
                continue
            if isinstance(edited, dict):
                return edited
            self._screen.fail("The arguments are a JSON object, such as {}.")

    def _question(self, interrupt: dict[str, Any]) -> dict[str, Any]:
        schema = interrupt.get("responseSchema") or {}
        self._screen.print(
            Text(printable(f"\n{interrupt.get('message') or 'An answer is needed.'}"), style="bold")
        )
        while True:
            try:
                if schema.get("type") == "object" and schema.get("properties"):
                    return resolved(self._fields(schema))
                text = self._keyboard.answer(f"{hint(schema)}(Enter: no answer) ")
                return resolved(parse(text, schema)) if text.strip() else DECLINED
            except Unreadable as error:
                self._screen.fail(str(error))

    def _fields(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Ask for the parts of an answer that has several. What is left out is as the schema has it by default."""
        values = {}
        for name, one in schema["properties"].items():
            default = f"[{one_line(one['default'])}] " if "default" in one else ""
            text = self._keyboard.answer(f"{one_line(name)}: {hint(one)}{default}")
            if text.strip():
                values[name] = parse(text, one)
        return values


def called(interrupt: dict[str, Any], conversation: Conversation) -> tuple[str, str]:
    """The tool that waits, and its arguments in JSON."""
    if call := conversation.call(interrupt.get("toolCallId")):
        return call["function"]["name"], call["function"]["arguments"] or "{}"
    return (interrupt.get("metadata") or {}).get("toolName") or "a tool", "{}"


def has_expired(interrupt: dict[str, Any]) -> bool:
    """Whether the server takes nothing but that the question is dismissed."""
    try:
        return datetime.fromisoformat(interrupt["expiresAt"]) < datetime.now(UTC)
    except (KeyError, TypeError, ValueError):  # None, or one without a time zone
        return False


def resolved(payload: Any) -> dict[str, Any]:
    return {"status": "resolved", "payload": payload}


def hint(schema: dict[str, Any]) -> str:
    """What may be typed, as far as the schema says so in a word."""
    if options := schema.get("enum"):
        return f"{' | '.join(one_line(option) for option in options)} "
    word = schema.get("format") or WORDS.get(str(schema.get("type")), "")
    return f"{one_line(word)} " if word else ""


def parse(text: str, schema: dict[str, Any]) -> Any:
    """Read what was typed as a value of the schema's type. The server checks the rest. Raises Unreadable."""
    kind, text = schema.get("type"), text.strip()
    if "enum" in schema:
        options = {one_line(option): option for option in schema["enum"]}
        if text not in options:
            raise Unreadable(f"Choose one of: {', '.join(options)}.")
        return options[text]
    if kind == "string":
        return text
    if kind == "boolean" and text.lower() in ("y", "yes", "n", "no", "true", "false"):
        return text.lower() in ("y", "yes", "true")
    try:
        return json.loads(text)
    except ValueError:
        if kind is None:
            return text
        raise Unreadable(f"That is not {hint(schema).strip() or kind}.") from None
