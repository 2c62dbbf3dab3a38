"""Evals: what users say to the agent, and what has to come of it, on pydantic-evals
(docs/evals.md).

A case talks to the agent's real endpoint, as a user of its own. Its library belongs to `make eval`:
nothing else imports this module.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

from django.apps import apps
from django.contrib.auth import get_user_model
from django.urls import reverse
from django.utils.module_loading import module_has_submodule
from pydantic import BaseModel, ConfigDict, Field
from pydantic_ai.models import Model
from pydantic_evals import Dataset
from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext
from pydantic_evals.reporting import EvaluationReport

from agui.blocking.executor import run_in_thread
from agui.testing import Answer, Chat

# An agent that asks again and again is no better for being answered again.
MAX_APPROVALS = 10

_numbers = count(1)


class Talk(BaseModel):
    """What a case puts in."""

    model_config = ConfigDict(extra="forbid")

    says: list[str] = Field(min_length=1)
    """The user's messages, one after the other."""
    approves: bool = True
    """What he answers to every approval."""
    given: dict[str, Any] = Field(default_factory=dict)
    """What there is before: the project's `prepare` makes it."""


class ToolCall(BaseModel):
    """A tool that the agent called."""

    name: str
    arguments: Any = None


class Outcome(BaseModel):
    """What came of it."""

    answers: list[str]
    """What the agent said, by message of the user."""
    calls: list[ToolCall]
    asked: list[str] = Field(default_factory=list)
    """The tools that waited for an approval."""


class AgentFailed(Exception):
    """A run ended with an error."""


# Named as a type: mypy has to know even where the library is missing, as it is until `make eval`.
Context: TypeAlias = EvaluatorContext[Talk, Outcome, Any]


@dataclass(repr=False)
class Calls(Evaluator[Talk, Outcome, Any]):
    """The agent calls these tools, in this order, and no other."""

    tools: list[str]

    def evaluate(self, ctx: Context) -> EvaluationReason:
        called = [call.name for call in ctx.output.calls]
        return _found(called == self.tools, f"It called {called}.")


@dataclass(repr=False)
class CallsWith(Evaluator[Talk, Outcome, Any]):
    """The agent calls this tool with these arguments, whatever others it has."""

    tool: str
    arguments: dict[str, Any]

    def evaluate(self, ctx: Context) -> EvaluationReason:
        given = [call.arguments or {} for call in ctx.output.calls if call.name == self.tool]
        is_met = any(self.arguments.items() <= arguments.items() for arguments in given)
        return _found(is_met, f"It called {self.tool} with {given}.")


@dataclass(repr=False)
class Asks(Evaluator[Talk, Outcome, Any]):
    """The agent waits for the user's approval of these tools, and of no other."""

    tools: list[str]

    def evaluate(self, ctx: Context) -> EvaluationReason:
        return _found(ctx.output.asked == self.tools, f"It asked for {ctx.output.asked}.")


@dataclass(repr=False)
class Says(Evaluator[Talk, Outcome, Any]):
    """The agent's last answer has this text in it, in capitals or not."""

    text: str

    def evaluate(self, ctx: Context) -> EvaluationReason:
        last = ctx.output.answers[-1]
        return _found(self.text.casefold() in last.casefold(), f"It said {last!r}.")


@dataclass(repr=False)
class Avoids(Evaluator[Talk, Outcome, Any]):
    """No answer of the agent has this text in it."""

    text: str

    def evaluate(self, ctx: Context) -> EvaluationReason:
        found = [
            answer for answer in ctx.output.answers if self.text.casefold() in answer.casefold()
        ]
        return _found(not found, f"It said {found}.")


def _found(holds: bool, otherwise: str) -> EvaluationReason:
    return EvaluationReason(holds, None if holds else otherwise)


EVALUATORS = (Calls, CallsWith, Asks, Says, Avoids)
Prepare = Callable[[Any, dict[str, Any]], None]


@dataclass
class Suite:
    """A file of cases, and how its project makes what they are given."""

    cases: Dataset[Talk, Outcome, Any]
    prepare: Prepare | None = None
    model: Model | None = field(default=None, kw_only=True)
    """In the place of the agent's own."""

    async def run(self, max_concurrency: int = 1) -> EvaluationReport[Talk, Outcome, Any]:
        """Play all cases; the report says how each ended."""
        return await self.cases.evaluate(
            self.play, name=self.cases.name, progress=False, max_concurrency=max_concurrency
        )

    async def play(self, talk: Talk) -> Outcome:
        """Have a user of his own say it. Raises AgentFailed."""
        user = await get_user_model()._default_manager.acreate(username=f"eval-{next(_numbers)}")
        if talk.given:
            if self.prepare is None:
                raise ValueError(
                    "A case has `given`, and nothing makes it: write `prepare` beside the cases."
                )
            await run_in_thread(self.prepare, user, talk.given)
        chat = Chat(user, model=self.model, url=reverse("agui:run"))
        outcome = Outcome(answers=[], calls=[])
        for text in talk.says:
            said = [_take(await chat.send(text), outcome)]
            for _ in range(MAX_APPROVALS):
                if not chat.answer.interrupts:
                    break
                calls = {call["toolCallId"]: call["toolCallName"] for call in _starts(chat.answer)}
                outcome.asked += [
                    calls.get(one.get("toolCallId"), "") for one in chat.answer.interrupts
                ]
                said.append(
                    _take(await (chat.approve() if talk.approves else chat.deny()), outcome)
                )
            outcome.answers.append("\n\n".join(filter(None, said)))
        return outcome


def _take(answer: Answer, outcome: Outcome) -> str:
    if answer.error:
        raise AgentFailed(answer.error)
    outcome.calls += [ToolCall(name=call.name, arguments=call.arguments) for call in answer.calls]
    return answer.text


def _starts(answer: Answer) -> list[dict[str, Any]]:
    return [event for event in answer.events if event["type"] == "TOOL_CALL_START"]


def find_suites(model: Model | None = None) -> Iterator[Suite]:
    """Read the files of cases in the `evals` packages of all applications."""
    for application in apps.get_app_configs():
        if not application.module or not module_has_submodule(application.module, "evals"):
            continue
        name = f"{application.name}.evals"
        if name == __name__:
            continue
        package = import_module(name)
        types = (*EVALUATORS, *getattr(package, "EVALUATORS", ()))
        for folder in map(Path, package.__path__):
            for path in sorted(
                path for path in folder.iterdir() if path.suffix in (".yaml", ".yml", ".json")
            ):
                yield Suite(read_cases(path, types), getattr(package, "prepare", None), model=model)


def read_cases(
    path: Path, types: tuple[type[Evaluator[Any, Any, Any]], ...] = EVALUATORS
) -> Dataset[Talk, Outcome, Any]:
    """Read a file of cases. Raises an exception that names what is wrong in it."""
    return Dataset[Talk, Outcome, Any].from_file(path, custom_evaluator_types=types)


def passed(report: EvaluationReport[Talk, Outcome, Any]) -> int:
    """Count the cases in which everything held."""
    return sum(
        not case.evaluator_failures and all(found.value for found in case.assertions.values())
        for case in report.cases
    )
