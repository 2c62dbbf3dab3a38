"""Copies of pydantic-ai's RunContext are faster, and the same."""

import logging
from copy import copy
from dataclasses import fields
from typing import Any

import pytest
from pydantic_ai import RunContext
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage

from agui.agents import run_contexts
from agui.agents.run_contexts import copy_fields, make_copies_fast


class OtherContext(RunContext[Any]):
    """As durable executors of pydantic-ai have them."""


@pytest.mark.parametrize("context_type", [RunContext, OtherContext])
def test_a_copy_has_all_fields_and_is_a_copy(context_type: type[RunContext[Any]], monkeypatch: pytest.MonkeyPatch):
    context = context_type(deps=["kept"], model=TestModel(), usage=RunUsage(), run_step=3)
    monkeypatch.delattr(RunContext, "__copy__", raising=False)
    of_python = copy(context)
    make_copies_fast()
    ours = copy(context)
    assert RunContext.__copy__ is copy_fields
    assert type(ours) is context_type
    assert vars(ours) == vars(of_python) == vars(context)
    assert all(getattr(ours, field.name) is getattr(context, field.name) for field in fields(context))
    ours.run_step = 4
    assert context.run_step == 3


def test_fields_in_slots_are_copied_by_python(monkeypatch: pytest.MonkeyPatch):
    class Slotted:
        __slots__ = ("deps",)

    monkeypatch.setattr(run_contexts, "RunContext", Slotted)
    make_copies_fast()
    context = Slotted()
    context.deps = "kept"  # type: ignore[attr-defined]
    assert copy(context).deps == "kept"  # type: ignore[attr-defined]


def test_a_copy_of_pydantic_ai_s_own_stays(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    def own(context: Any) -> Any:
        return context

    monkeypatch.setattr(run_contexts.RunContext, "__copy__", own, raising=False)
    with caplog.at_level(logging.INFO, "agui.runs"):
        make_copies_fast()
    assert RunContext.__copy__ is own
    assert "in its own way" in caplog.text
