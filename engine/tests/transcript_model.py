"""The model of a transcript: what the steps let it answer, and what they see of the requests to it."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import RetryPromptPart, TextPart, ToolReturnPart, UserPromptPart

from agui.testing import ScriptedModel, call, fail, say, think, wait
from tests.conftest import parts_of
from tests.transcript_tools import Gate

FAILURES: dict[Any, Callable[[], BaseException]] = {
    **{code: lambda code=code: ModelHTTPError(code, "m", body={"secret": "hunter2"}) for code in (400, 401, 429, 500)},
    "crash": lambda: RuntimeError("postgres://user:hunter2@db"),
    "connection": lambda: ConnectionError("gone"),
}


class Script(ScriptedModel):
    """A model whose answers the steps give, one by one."""

    def __init__(self) -> None:
        self.answers: deque[Any] = deque()
        self.overdrawn = False
        self.always: Any = None
        """What it answers if no step says anything else."""
        super().__init__(self._next())

    def _next(self) -> Iterator[Any]:
        while True:
            self.overdrawn |= not self.answers and not self.always
            yield self.answers.popleft() if self.answers else self.always or [fail(AssertionError("no answer"))]


def answer_of(parts: list[Any], gate: Callable[[str], Gate]) -> list[Any]:
    return [_part_of(part, gate) for part in parts if part is not None]


def _part_of(part: Any, gate: Callable[[str], Gate]) -> Any:
    if isinstance(part, str):
        return say(part)
    match dict(part):
        case {"say": text, **rest}:
            return say(text, **rest)
        case {"think": text, **rest}:
            return think(text, **rest)
        case {"call": name, "json": text, **rest}:
            return call(name, _json=text, _id=rest.get("id", ""))
        case {"call": name, **rest}:
            return call(name, _id=rest.get("id", ""), **rest.get("with", {}))
        case {"fail": kind}:
            return fail(FAILURES[kind]())
        case {"wait": name}:
            return wait(gate(name).opened, gate(name).reached)
    raise ValueError(f"The model can't say {part}")


def request_view(request: Any) -> dict[str, Any]:
    """What a step says about a request to the model."""
    parts = parts_of(request)
    results = [part for part in parts if isinstance(part, ToolReturnPart)]
    return {
        "prompt": request.prompt,
        "prompts": [part.content for part in parts if isinstance(part, UserPromptPart)],
        "results": {part.tool_name: part.content for part in results},
        "calls": {part.tool_call_id: {"content": part.content, "outcome": part.outcome} for part in results},
        "lines": list(_lines_of(parts)),
        "tools": sorted(request.tools),
        "instructions": request.instructions,
        "all": str([message.parts for message in request.messages]),
    }


def _lines_of(parts: list[Any]) -> Iterator[str]:
    """The texts in their order, as a step names those of a thread."""
    for part in parts:
        match part:
            case UserPromptPart():
                yield str(part.content)
            case TextPart():
                yield f"assistant: {part.content}"
            case ToolReturnPart() | RetryPromptPart():
                yield f"tool: {part.content}"
