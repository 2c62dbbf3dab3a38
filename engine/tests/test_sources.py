"""The sources of an answer: numbered for the model, told with the answer, kept with it, and safe to show."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from pydantic_ai import ToolReturn
from pydantic_ai.messages import Citation, DocumentCitationSource, WebCitationSource

from agui import ToolRegistry, tool
from agui.contrib.sources.cite import MAX_SOURCES, Source, Sources, cite
from agui.testing import Part, ScriptedModel, call, event_types, fail, say
from tests import pages
from tests.conftest import Client, decision, results_of
from tests.wire import check_stream

pytestmark = pytest.mark.django_db(transaction=True)

Mount = Callable[..., ScriptedModel]
HOURS = {"title": "Opening hours", "url": "/help/hours/", "quote": "We open at nine."}
registry = ToolRegistry()


@tool(registry)
def look_up(sources: list[Source], fails: bool = False) -> ToolReturn[str]:
    """Look something up."""
    found = cite("Found.", *sources)
    if fails:
        raise ValueError("down")
    return found


@tool(registry)
async def look_up_at_once(sources: list[Source]) -> ToolReturn[str]:
    """Look something up."""
    return cite("Found.", *sources)


@tool(registry, destructive=True)
def wipe(sources: list[Source]) -> ToolReturn[str]:
    """Wipe everything."""
    return cite("Wiped.", *sources)


def look(*sources: dict[str, Any], **more: Any) -> Part:
    return call("look_up", sources=list(sources), **more)


def page(number: int, **more: Any) -> dict[str, Any]:
    return {"title": f"Page {number}", "url": f"https://example.com/{number}", **more}


def cited(text: str, *sources: Any) -> Part:
    """A text, and what a provider cites for it when the text is complete."""
    citations = [Citation([source]) for source in sources]
    return Part("handle_text_delta", [{"content": text}, {"content": "", "citations": citations}])


def told(events: list[dict[str, Any]]) -> Any:
    found = [event["value"]["sources"] for event in events if event.get("name") == "sources"]
    assert len(found) <= 1
    return found[0] if found else None


async def test_tools_sources_come_with_the_answer_and_stay_with_it(client: Client, mount: Mount):
    model = mount(registry, look(HOURS, page(2), _id="c"), say("At nine [1]."))
    events = await client.run("When?")
    answer = (await client.thread())["messages"][-1]
    check_stream(events)
    assert event_types(events)[-2:] == ["CUSTOM", "RUN_FINISHED"]
    sources = [{"number": 1, **HOURS}, {"number": 2, **page(2)}]
    assert events[-2]["value"] == {"messageId": answer["id"], "sources": sources}
    assert answer["metadata"] == {"sources": sources}
    read = results_of(model.requests[1])["c"].content
    assert read == {"result": "Found.", "cite_as": {"[1]": "Opening hours", "[2]": "Page 2"}}


async def test_calls_of_one_turn_are_numbered_together(client: Client, mount: Mount):
    at_once = [look(page(1)), call("look_up_at_once", sources=[page(2), page(1, quote="One.")], _id="b")]
    twice = look(page(3, quote="One."), page(3, quote="Two."), page(3, quote="One."), _id="c")
    model = mount(registry, at_once, twice, say("Yes."))
    sources = told(await client.run("Hi"))

    assert sorted(source["title"] for source in sources) == ["Page 1", "Page 2", "Page 3"]
    assert [source["number"] for source in sources] == [1, 2, 3]
    assert sources[2]["quote"] == "One.\n\nTwo."
    assert results_of(model.requests[2])["c"].content["cite_as"] == {"[3]": "Page 3"}
    [first] = [source for source in sources if source["title"] == "Page 1"]
    assert f"[{first['number']}]" in results_of(model.requests[1])["b"].content["cite_as"]


@pytest.mark.parametrize(
    ("metadata", "sources"),
    [
        ([{"number": "no"}], None),  # It only looks like ours
        ([{"number": 2, **page(2)}], [{"number": 2, **page(2)}]),  # The number that the model has read
    ],
)
async def test_sources_are_read_from_the_metadata_of_a_result(client: Client, mount: Mount, metadata, sources):
    others = ToolRegistry()
    returned = ToolReturn("Done.", metadata={"agui_sources": metadata})
    others.add(lambda: returned, name="second", description="Answer with metadata.")
    mount(others, call("second"), say("Yes [2]."))
    events = await client.run("Hi")
    assert (told(events), events[-1]["type"]) == (sources, "RUN_FINISHED")


async def test_providers_citations_follow_those_of_tools(client: Client, mount: Mount):
    web = WebCitationSource("https://example.com/1", title="Other", excerpts=["One."])
    nameless = WebCitationSource("https://example.org/")
    book = DocumentCitationSource(title="Handbook", excerpts=["Nine.", "Ten."])
    numbered = DocumentCitationSource(document_id="d7")
    passage = DocumentCitationSource(excerpts=["Nine. " * 20])
    mount(registry, [cited("Wait.", nameless), look(page(1))], cited("Yes.", web, web, book, numbered, passage))
    assert told(await client.run("Hi")) == [
        {"number": 1, **page(1, quote="One.")},
        {"number": 2, "title": "https://example.org/", "url": "https://example.org/"},
        {"number": 3, "title": "Handbook", "quote": "Nine.\n\nTen."},
        {"number": 4, "title": "d7"},
        {"number": 5, "title": ("Nine. " * 20)[:80].strip(), "quote": ("Nine. " * 20).strip()},
    ]


async def test_numbers_go_on_after_an_approval(client: Client, mount: Mount):
    model = mount(registry, look(page(1)), call("wipe", sources=[page(2)], _id="w"), say("Wiped [2]."))
    paused = await client.run("Wipe")
    events = await client.run(resume=[decision("w")])

    assert told(paused) is None
    assert results_of(model.requests[2])["w"].content["cite_as"] == {"[2]": "Page 2"}
    assert told(events) == [{"number": 1, **page(1)}, {"number": 2, **page(2)}]


async def test_an_answer_has_no_sources_of_another_turn_or_user(client: Client, other_client: Client, mount: Mount):
    model = mount(registry, look(page(1)), say("One."), look(_id="c"), say("Two."), look(page(3)), say("Three."))
    await client.run("First")
    events = await client.run("Second")
    assert "CUSTOM" not in event_types(events)
    assert results_of(model.requests[3])["c"].content == "Found."
    assert told(await other_client.run("Third")) == [{"number": 1, **page(3)}]
    messages = (await client.thread())["messages"]
    assert [message.get("metadata") for message in messages if message.get("content") == "Two."] == [None]
    assert "Page 1" not in json.dumps(await other_client.thread())


async def test_a_call_that_failed_names_no_source(client: Client, mount: Mount):
    answers = [say("Yes [2]."), look(page(1)), fail(ValueError("down"))]
    mount(registry, look(page(1), fails=True), look(page(2)), *answers)
    assert told(await client.run("Hi")) == [{"number": 2, **page(2)}]
    events = await client.run("Again")  # Without an answer there are none
    assert (told(events), events[-1]["type"]) == (None, "RUN_ERROR")


@pytest.mark.parametrize(
    "url",
    [
        *("javascript:alert(1)", " javascript:alert(1)", "java\nscript:alert(1)", "data:text/html,x"),
        *("//example.com/", "/\\example.com/", "/\t/example.com/", "help/"),
        *("https://example.com/ x", "https://example.com/" + "x" * 2000),
    ],
)
async def test_an_address_that_is_no_page_is_left_out(client: Client, mount: Mount, url: str):
    mount(registry, look({"title": "Page", "url": url}), cited("Yes.", WebCitationSource(url, title="Web")))
    assert told(await client.run("Hi")) == [{"number": 1, "title": "Page"}, {"number": 2, "title": "Web"}]


async def test_sources_have_bounds(client: Client, mount: Mount):
    long = {"title": " " + "t" * 400, "quote": "q" * 2000}
    many = [page(number) for number in range(1, 100)]
    odd = cited("Yes.", DocumentCitationSource(title="\0\ud800", excerpts=["\ud800"]))
    model = mount(registry, look(long, {"title": " "}, *many, _id="c"), say("Yes."), odd)
    sources = told(await client.run("Hi"))
    assert len(sources) == len(results_of(model.requests[1])["c"].content["cite_as"]) == MAX_SOURCES
    assert (len(sources[0]["title"]), len(sources[0]["quote"])) == (300, 1000)
    assert all(source["title"] for source in sources)
    # What has no text form does not break the run.
    assert told(await client.run("Hi")) == (await client.thread())["messages"][-1]["metadata"]["sources"]


def test_tool_of_the_manual_cites():
    section = pages.read("tools.md").partition("*Part `sources`.*")[2]
    code = re.findall(r"```python\n(.*?)```", section, re.DOTALL)[0]
    own = ToolRegistry()
    exec(compile(code, "agui/manual/tools.md", "exec"), {"registry": own})  # noqa: S102
    assert json.dumps(own.call("opening_hours", {}).return_value) in section


def test_a_number_is_given_once_and_kept():
    sources = Sources()
    numbers = [sources.add(Source(title=title), number) for title, number in zip("ABCDA", (3, 3, 0, 1, 0), strict=True)]
    assert numbers == [3, 4, 5, 1, 3]
    assert [row["number"] for row in sources.rows()] == [1, 3, 4, 5]


def test_a_tool_can_be_called_without_a_run():
    result = registry.call("look_up", {"sources": [{"title": "", "url": "HTTPS://example.com/"}]})
    assert result.return_value["cite_as"] == {"[1]": "HTTPS://example.com/"}
