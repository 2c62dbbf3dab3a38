"""Evals: what users say to the agent, and what it should do (agui/manual/agent.md).

A case talks to the agent's real endpoint, as a user of its own. `make eval` installs the library,
and only its command imports this module.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

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
from agui.namespaces import FIRST_AGENT
from agui.testing import Answer, Chat

# An agent may ask again after each answer: the case then goes on without another one.
MAX_APPROVALS = 10

_numbers = count(1)


class Talk(BaseModel):
    """The input of a case."""

    model_config = ConfigDict(extra="forbid")

    says: list[str] = Field(min_length=1)
    """The user's messages, one after the other."""
    approves: bool = True
    """The user's answer to every approval."""
    given: dict[str, Any] = Field(default_factory=dict)
    """The data that exists before the talk: the project's `prepare` creates it."""


class ToolCall(BaseModel):
    """A tool that the agent called."""

    name: str
    arguments: Any = None


class Outcome(BaseModel):
    """The output of a case."""

    answers: list[str]
    """The agent's answers to the user's messages."""
    calls: list[ToolCall]
    asked: list[str] = Field(default_factory=list)
    """The tools that waited for an approval."""


class AgentFailed(Exception):
    """A run ended with an error."""


Context = EvaluatorContext[Talk, Outcome, Any]
Report = EvaluationReport[Talk, Outcome, Any]


@dataclass(repr=False)
class Calls(Evaluator[Talk, Outcome, Any]):
    """The agent calls these tools, in this order, and no other."""

    tools: list[str]

    def evaluate(self, ctx: Context) -> EvaluationReason:
        called = [call.name for call in ctx.output.calls]
        return _judge(called == self.tools, f"It called {called}.")


@dataclass(repr=False)
class CallsWith(Evaluator[Talk, Outcome, Any]):
    """The agent calls this tool with at least these arguments."""

    tool: str
    arguments: dict[str, Any]

    def evaluate(self, ctx: Context) -> EvaluationReason:
        is_met, given = False, []
        for call in ctx.output.calls:
            if call.name == self.tool:
                arguments = call.arguments or {}
                given.append(arguments)
                is_met = is_met or self.arguments.items() <= arguments.items()
        return _judge(is_met, f"It called {self.tool} with {given}.")


@dataclass(repr=False)
class Asks(Evaluator[Talk, Outcome, Any]):
    """The agent waits for the user's approval of these tools, and of no other."""

    tools: list[str]

    def evaluate(self, ctx: Context) -> EvaluationReason:
        return _judge(ctx.output.asked == self.tools, f"It asked for {ctx.output.asked}.")


@dataclass(repr=False)
class Says(Evaluator[Talk, Outcome, Any]):
    """The agent's last answer contains this text, in upper or lower case."""

    text: str

    def evaluate(self, ctx: Context) -> EvaluationReason:
        last = ctx.output.answers[-1]
        return _judge(self.text.casefold() in last.casefold(), f"It said {last!r}.")


@dataclass(repr=False)
class Avoids(Evaluator[Talk, Outcome, Any]):
    """No answer of the agent contains this text, in upper or lower case."""

    text: str

    def evaluate(self, ctx: Context) -> EvaluationReason:
        text = self.text.casefold()
        answers = [answer for answer in ctx.output.answers if text in answer.casefold()]
        return _judge(not answers, f"It said {answers}.")


def _judge(is_met: bool, reason: str) -> EvaluationReason:
    return EvaluationReason(is_met, None if is_met else reason)


EVALUATORS = (Calls, CallsWith, Asks, Says, Avoids)
Prepare = Callable[[Any, dict[str, Any]], None]


@dataclass
class Suite:
    """A file of cases, and how its project creates the data that they are given."""

    cases: Dataset[Talk, Outcome, Any]
    prepare: Prepare | None = None
    model: Model | None = field(default=None, kw_only=True)
    """Replaces the agent's own model."""
    agent: str = field(default=FIRST_AGENT, kw_only=True)
    """The namespace of the agent's routes."""

    async def run(self, max_concurrency: int = 1) -> Report:
        """Play all cases. The report says how each ended."""
        return await self.cases.evaluate(
            self.play, name=self.cases.name, progress=False, max_concurrency=max_concurrency
        )

    async def play(self, talk: Talk) -> Outcome:
        """Let a new user say what the case says. Raises AgentFailed."""
        # Each case has its own user, so that it sees nothing of the others.
        model = get_user_model()
        name = {model.USERNAME_FIELD: f"eval-{next(_numbers)}"}
        user = await model._default_manager.acreate(**name)
        if talk.given:
            if self.prepare is None:
                raise ValueError(
                    "A case has `given`, and nothing makes it: write `prepare` beside the cases."
                )
            await run_in_thread(self.prepare, user, talk.given)
        chat = Chat(user, model=self.model, url=reverse(f"{self.agent}:run"))
        outcome = Outcome(answers=[], calls=[])
        for text in talk.says:
            await chat.send(text)
            texts = [_read_answer(chat.answer, outcome)]
            for _ in range(MAX_APPROVALS):
                if not chat.answer.interrupts:
                    break
                outcome.asked += _tools_asked_for(chat.answer)
                if talk.approves:
                    await chat.approve()
                else:
                    await chat.deny()
                texts.append(_read_answer(chat.answer, outcome))
            outcome.answers.append("\n\n".join(filter(None, texts)))
        return outcome


def _read_answer(answer: Answer, outcome: Outcome) -> str:
    """Add the calls of an answer to the outcome, and return its text. Raises AgentFailed."""
    if answer.error:
        raise AgentFailed(answer.error)
    for call in answer.calls:
        outcome.calls.append(ToolCall(name=call.name, arguments=call.arguments))
    return answer.text


def _tools_asked_for(answer: Answer) -> list[str]:
    """Return the name of the tool behind each interrupt; "" for a question without a call."""
    names: dict[str | None, str] = {}
    for event in answer.events:
        if event["type"] == "TOOL_CALL_START":
            names[event["toolCallId"]] = event["toolCallName"]
    return [names.get(interrupt.get("toolCallId"), "") for interrupt in answer.interrupts]


def find_suites(model: Model | None = None) -> Iterator[Suite]:
    """Read the files of cases in the `evals` packages of all applications."""
    for application in apps.get_app_configs():
        if not application.module or not module_has_submodule(application.module, "evals"):
            continue
        package = import_module(f"{application.name}.evals")
        types = (*EVALUATORS, *getattr(package, "EVALUATORS", ()))
        prepare = getattr(package, "prepare", None)
        agent = getattr(package, "AGENT", FIRST_AGENT)
        for folder in package.__path__:
            for path in sorted(Path(folder).iterdir()):
                if path.suffix in (".yaml", ".yml", ".json"):
                    yield Suite(read_cases(path, types), prepare, model=model, agent=agent)


def read_cases(
    path: Path, types: tuple[type[Evaluator[Any, Any, Any]], ...] = EVALUATORS
) -> Dataset[Talk, Outcome, Any]:
    """Read a file of cases. Raises an exception that names what is wrong in it."""
    return Dataset[Talk, Outcome, Any].from_file(path, custom_evaluator_types=types)


def passed(report: Report) -> int:
    """Count the cases whose evaluators all agree."""
    number = 0
    for case in report.cases:
        is_met = all(assertion.value for assertion in case.assertions.values())
        if is_met and not case.evaluator_failures:
            number += 1
    return number
