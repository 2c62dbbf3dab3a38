"""Ask the person for approvals and answers: from AG-UI's interrupts to a resume."""

import json
from datetime import datetime
from typing import Any

from rich.text import Text

from agui import clock
from agui.contrib.terminal.conversation import Conversation
from agui.contrib.terminal.keyboard import Keyboard
from agui.contrib.terminal.printable import one_line, printable
from agui.contrib.terminal.screen import Screen

# What the person types for a value of each JSON type.
WORDS = {
    "boolean": "yes | no",
    "integer": "a whole number",
    "number": "a number",
    "array": "JSON",
    "object": "JSON",
}
DECLINED: dict[str, Any] = {"status": "cancelled"}


class Unreadable(Exception):
    """The typed text is no answer. The message says why."""


class Questions:
    """Asks the questions that a thread waits for."""

    def __init__(self, screen: Screen, keyboard: Keyboard) -> None:
        self._screen = screen
        self._keyboard = keyboard

    def ask(self, conversation: Conversation) -> list[dict[str, Any]]:
        """Ask all open questions: the server takes the answers at once.

        Raises EOFError and KeyboardInterrupt.
        """
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
        self._print_message(interrupt, "May this run?")
        # The person sees all arguments that they approve, defaults included.
        shown = metadata.get("arguments") or given
        self._screen.print(Text(f"  {one_line(name)} {one_line(shown)}"))
        schema = interrupt.get("responseSchema") or {}
        may_edit = "editedArgs" in (schema.get("properties") or {})
        choices = "[y]es, [n]o, [e]dit" if may_edit else "[y]es, [n]o"
        while True:
            match self._keyboard.answer(f"Run it? {choices}: ").strip().lower():
                case "y" | "yes":
                    return resolved({"approved": True})
                case "n" | "no":
                    return resolved(self._denial())
                case "e" | "edit" if may_edit:
                    return resolved({"approved": True, "editedArgs": self._edit(given)})

    def _denial(self) -> dict[str, Any]:
        reason = self._keyboard.answer("Why not? (Enter: no reason) ").strip()
        if not reason:
            return {"approved": False}
        return {"approved": False, "reason": reason}

    def _print_message(self, interrupt: dict[str, Any], default: str) -> None:
        message = interrupt.get("message") or default
        self._screen.print(Text(printable(f"\n{message}"), style="bold"))

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
        self._print_message(interrupt, "An answer is needed.")
        while True:
            try:
                if schema.get("type") == "object" and schema.get("properties"):
                    return resolved(self._fields(schema))
                text = self._keyboard.answer(f"{hint(schema)}(Enter: no answer) ")
                if not text.strip():
                    return DECLINED
                return resolved(parse(text, schema))
            except Unreadable as error:
                self._screen.fail(str(error))

    def _fields(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Ask for each field of an answer. The server fills empty ones with their defaults."""
        values = {}
        for name, field in schema["properties"].items():
            prompt = f"{one_line(name)}: {hint(field)}"
            if "default" in field:
                prompt += f"[{one_line(field['default'])}] "
            text = self._keyboard.answer(prompt)
            if text.strip():
                values[name] = parse(text, field)
        return values


def called(interrupt: dict[str, Any], conversation: Conversation) -> tuple[str, str]:
    """Return the name of the tool that waits, and its arguments in JSON."""
    call = conversation.call(interrupt.get("toolCallId"))
    if call:
        return call["function"]["name"], call["function"]["arguments"] or "{}"
    metadata = interrupt.get("metadata") or {}
    return metadata.get("toolName") or "a tool", "{}"


def has_expired(interrupt: dict[str, Any]) -> bool:
    """Return whether it is too late to answer: the server then only accepts a dismissal."""
    try:
        return datetime.fromisoformat(interrupt["expiresAt"]) < clock.utc_now()
    except (KeyError, TypeError, ValueError):
        # There is no time, or it has no time zone.
        return False


def resolved(payload: Any) -> dict[str, Any]:
    return {"status": "resolved", "payload": payload}


def hint(schema: dict[str, Any]) -> str:
    """Say what may be typed, if the schema is simple enough; "" otherwise."""
    options = schema.get("enum")
    if options:
        return f"{' | '.join(map(one_line, options))} "
    word = schema.get("format") or WORDS.get(str(schema.get("type")), "")
    return f"{one_line(word)} " if word else ""


def parse(text: str, schema: dict[str, Any]) -> Any:
    """Read a typed text as a value of the schema's type. Raises Unreadable.

    The server checks the rest of the schema.
    """
    kind = schema.get("type")
    text = text.strip()
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
