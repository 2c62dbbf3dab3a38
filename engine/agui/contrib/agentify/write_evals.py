"""Writes the cases that a language model is tried with (agui/manual/agent.md)."""

from agui.contrib.agentify.describe import ModelInfo


def write_evals(info: ModelInfo) -> str:
    """Write a file of cases. Each has a user with the permission to see the rows."""
    names = info.names
    staff = "" if info.owner else ", staff: true"
    given = f"{{permissions: [{info.permission('view')}]{staff}}}"
    return f"""\
# Cases for the tools of {names.rows}; agui/manual/agent.md has the evaluators.
name: {names.rows}
cases:
  - name: lists the newest {names.rows}
    inputs:
      says: [Show me the last five {names.rows}]
      given: {given}
    evaluators:
      - Calls: {{tools: [list_{names.plural}]}}

  - name: calls nothing for a greeting
    inputs:
      says: [Hello]
      given: {given}
    evaluators:
      - Calls: {{tools: []}}
"""
