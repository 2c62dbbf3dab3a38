"""agui/manual/recipes/, the page about traces: what each recipe claims."""

import pytest

from agui.testing import Chat, call, say


async def test_add_a_span(paste, user, monkeypatch):
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from agui.contrib.observe import telemetry as otel

    recipe = paste("observe#add-a-span-of-your-own")
    monkeypatch.setattr(otel.trace, "set_tracer_provider", lambda _: None)
    exporter = InMemorySpanExporter()
    sent = otel.start(processor=SimpleSpanProcessor(exporter), reader=InMemoryMetricReader())
    # A process has one provider, which would outlive this test.
    monkeypatch.setattr(recipe.modules["assistant/tools.py"], "tracer", sent.spans.get_tracer("recipe"))
    try:
        await Chat(user, call("look_up_price", product="lamp"), say("12 euros.")).send("What is a lamp?")
    finally:
        otel.stop()
    spans = {span.context.span_id: span for span in exporter.get_finished_spans()}
    [span] = [span for span in spans.values() if span.name == "ask the shop"]
    line = []
    while span:
        line.append(span.name)
        span = spans.get(span.parent.span_id) if span.parent else None
    assert line == ["ask the shop", "execute_tool look_up_price", "invoke_agent assistant", "agui.run"]
    assert "12 euros" not in "".join(span.to_json() for span in spans.values())


async def test_trace_one_agent_only(paste, user):
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    recipe = paste("observe#trace-one-agent-only")
    exporter = InMemorySpanExporter()
    recipe.traces.add_span_processor(SimpleSpanProcessor(exporter))
    await Chat(user, say("Secret.")).send("Hi")
    spans = exporter.get_finished_spans()
    assert [span.name.partition(" ")[0] for span in spans] == ["chat", "invoke_agent"]
    assert "Secret" not in "".join(span.to_json() for span in spans)


async def test_count_what_tools_do(paste, user):
    recipe = paste("observe#count-what-tools-do")
    recipe.registry.add(lambda: "none", name="list_tasks", description="List the tasks.")
    recipe.registry.add(lambda: 1 / 0, name="fail", description="Fail.")
    await Chat(user, call("list_tasks"), call("fail"), say("None.")).send("List them")
    assert recipe.seen == [("list_tasks", "began"), ("list_tasks", "success"), ("fail", "began"), ("fail", "failed")]
