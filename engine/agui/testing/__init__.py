"""A scripted language model and readers of the event stream, for tests of an agent.

    model = ScriptedModel([
        call("add_task", title="Milk"),         # answers the model's first request
        [think("Done?"), say("Added it.")],     # answers the second, which has the tool's result
    ])
    assert event_types(await collect(response))[-1] == "RUN_FINISHED"
    assert model.requests[1].tool_results == {"add_task": {"id": 1}}

An answer is a step, a list of steps, or a Response. A script may be endless:
`itertools.repeat(say("Hi"))`. `Chat` combines both: a user at the endpoint, with a script instead
of the model. `as_user(ada)` is the `ctx` of a tool that a test calls itself. `plugin` has the
fixtures that a project's `conftest.py` takes over in one line.
"""

from agui.testing.chat import Answer, Chat, Frame, ToolUse, collect, event_types, read_frames
from agui.testing.connections import close_connections
from agui.testing.context import ToolContext, as_user
from agui.testing.script import (
    Part,
    Pause,
    Request,
    Response,
    ScriptedModel,
    Step,
    call,
    fail,
    say,
    think,
    wait,
)

__all__ = [
    "Answer",
    "Chat",
    "Frame",
    "Part",
    "Pause",
    "Request",
    "Response",
    "ScriptedModel",
    "Step",
    "ToolContext",
    "ToolUse",
    "as_user",
    "call",
    "close_connections",
    "collect",
    "event_types",
    "fail",
    "read_frames",
    "say",
    "think",
    "wait",
]
