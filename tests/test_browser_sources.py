"""What an answer shows beside its text: its sources, in a list and in cards, and the images that were made."""

from collections.abc import Iterator

import pytest
from pages import Page, expect, finished, say
from servers import LiveProject, serve

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

MODEL = """
import struct
import zlib

from pydantic_ai import BinaryImage
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

from agui import tool
from agui.contrib.sources.cite import Source, cite
from assistant.tools import registry

SOURCES = [
    Source(title="Opening hours", url="/help/hours/", quote="We open at nine."),
    Source(title="<b>Law</b>", url="https://law.example.com/hours?a=1"),
    Source(title="A sign", url="javascript:alert(1)"),
]


@tool(registry)
def opening_hours() -> str:
    "Look up when the shop is open."
    return cite("At nine.", *SOURCES)


def png(width, height, shade):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\\0" + bytes([shade]) * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pieces = [(b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\\x89PNG\\r\\n\\x1a\\n" + b"".join(chunk(*piece) for piece in pieces)


@tool(registry)
def draw(prompt: str, shade: int) -> BinaryImage:
    "Draw something."
    return BinaryImage(png(300 + shade, 200, shade), media_type="image/png")


async def answer(messages, info):
    last = messages[-1].parts[0]
    if "Draw" in str(messages[-1].parts[-1].content):
        for n, what in enumerate(["A red fox", "A hen", ""]):
            arguments = '{"prompt": "%s", "shade": %d}' % (what, n * 100)
            yield {n: DeltaToolCall("draw", arguments, tool_call_id=f"d{n}")}
    elif last.part_kind == "tool-return" and last.tool_name == "draw":
        yield "Here they are."
    elif last.part_kind == "tool-return":
        yield "At **nine** [1], by law [2][1], not [9].\\n\\n- `a[1]`\\n- a [link [1]](https://example.com/)"
    else:
        yield {0: DeltaToolCall("opening_hours", "{}", tool_call_id="c")}


model = FunctionModel(stream_function=answer)
"""


@pytest.fixture(scope="module")
def citing_project(site: LiveProject) -> Iterator[LiveProject]:
    (site.path / "citing.py").write_text(MODEL)
    with serve(site.path, AGENT_MODEL="python:citing.model") as live:
        yield live


@pytest.fixture
def citing(new_page, citing_project: LiveProject, signed_in: dict) -> Page:
    return new_page(citing_project.url, storage_state=signed_in)


def test_sources_are_listed_below_their_answer(citing):
    say(citing, "When do you open?")
    finished(citing)
    for _ in range(2):
        sources = citing.get_by_role("group").filter(has_text="3 sources")
        sources.get_by_text("3 sources").click()
        items = sources.get_by_role("listitem")
        quoted, titles = "Opening hoursWe open at nine.", ["<b>Law</b>law.example.com", "A sign"]
        expect(items).to_have_text([quoted, *titles])
        links = sources.get_by_role("link")
        expect(links).to_have_count(2)
        expect(links.first).to_have_attribute("target", "_blank")
        expect(links.first).to_have_attribute("rel", "noopener noreferrer")
        addresses = [link.get_attribute("href") for link in links.all()]
        assert addresses[0].endswith("/help/hours/")
        assert addresses[1] == "https://law.example.com/hours?a=1"
        citing.reload()


def test_a_mark_shows_a_card_of_its_sources(citing):
    say(citing, "When do you open?")
    finished(citing)
    prose = citing.locator(".prose").last
    marks = prose.get_by_role("button")
    expect(marks).to_have_text(["[1]", "[2][1]"])
    expect(prose).to_contain_text("At nine [1], by law [2][1], not [9].")
    expect(marks.first).to_have_accessible_name("Source 1: Opening hours")
    expect(marks.last).to_have_accessible_name("Sources [2][1]: <b>Law</b> and Opening hours")
    card = citing.get_by_role("dialog", name="Opening hours")

    # The pointer rests on a mark, moves into the card, and leaves both.
    marks.first.hover()
    expect(card).to_contain_text("We open at nine.")
    expect(marks.first).to_have_attribute("aria-expanded", "true")
    card.get_by_role("link", name="Open").hover()
    expect(card.get_by_role("link", name="Open")).to_have_attribute("rel", "noopener noreferrer")
    card.get_by_role("blockquote").hover()
    expect(card).to_be_visible()
    citing.mouse.move(5, 5)
    expect(card).to_be_hidden()
    marks.first.hover()
    expect(card).to_be_visible()
    citing.keyboard.press("Escape")
    expect(card).to_be_hidden()
    citing.mouse.move(5, 5)

    # By keyboard, with several sources; on a phone, and from right to left.
    for direction, next_key in [("ltr", "ArrowRight"), ("rtl", "ArrowLeft")]:
        citing.set_viewport_size({"width": 380, "height": 500})
        citing.evaluate("dir => { document.documentElement.dir = dir; }", direction)
        marks.last.focus()
        citing.keyboard.press("Enter")
        card = citing.get_by_role("dialog", name="<b>Law</b>")
        expect(card).to_be_focused()
        expect(card).to_contain_text("1 of 2")
        expect(card).to_contain_text("law.example.com/hours")
        box = card.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 380
        citing.keyboard.press(next_key)
        expect(citing.get_by_role("dialog", name="Opening hours")).to_contain_text("We open at nine.")
        citing.keyboard.press("Escape")
        expect(citing.locator(".source-card")).to_be_hidden()
        expect(marks.last).to_be_focused()
        citing.wait_for_function("() => !document.querySelector('agui-chat').shadowRoot.querySelector(':popover-open')")
        expect(marks.last).to_have_attribute("aria-expanded", "false")

    # From the card to the list, and back. A thread that is read again has the same marks.
    marks.last.click()
    citing.get_by_role("button", name="All sources").click()
    item = citing.get_by_role("listitem").filter(has_text="<b>Law</b>")
    expect(item).to_be_focused()
    citing.keyboard.press("Escape")
    expect(marks.last).to_be_focused()
    citing.reload()
    citing.locator(".source-mark").first.click()
    expect(citing.get_by_role("dialog", name="Opening hours")).to_be_focused()
    citing.mouse.click(5, 300)
    expect(citing.locator(".source-card")).to_be_hidden()

    # On paper the numbers stay, and the list has the addresses.
    citing.emulate_media(media="print")
    citing.evaluate("() => { dispatchEvent(new Event('beforeprint')); }")
    expect(citing.locator(".source-mark").first).to_be_visible()
    link = citing.get_by_role("link", name="<b>Law</b>")
    expect(link).to_be_visible()
    written = link.evaluate("link => getComputedStyle(link, '::after').content")
    assert "https://law.example.com/hours?a=1" in written


def test_images_are_shown_where_they_were_made_and_open_large(citing):
    asked = []
    citing.on("request", lambda request: asked.append(request.url))
    say(citing, "Draw")
    finished(citing)
    for _ in range(2):
        links = citing.get_by_role("list", name="Images").get_by_role("link")
        expect(links).to_have_count(3)
        names = ["A red fox", "A hen", "Image made by the agent"]
        for index, name in enumerate(names):
            expect(links.nth(index)).to_have_accessible_name(f"Open the image: {name}")
            picture = links.nth(index).locator("img")
            expect(picture).to_have_attribute("width", str(300 + index * 100))
            citing.wait_for_function(
                "image => image.complete && image.naturalHeight === 200", arg=picture.element_handle()
            )
        places = citing.locator(".messages > :is(.assistant, .activity):not([hidden])")
        expect(places.last).to_have_text("Here they are.")
        citing.reload()
    assert not [url for url in asked if url.startswith(("data:", "blob:"))]

    links.nth(1).focus()
    citing.keyboard.press("Enter")
    large = citing.get_by_role("dialog", name="Images")
    picture = large.get_by_role("img")
    expect(picture).to_have_accessible_name("A hen")
    expect(large).to_contain_text("2 of 3")
    citing.keyboard.press("ArrowRight")
    expect(picture).to_have_accessible_name("Image made by the agent")
    large.get_by_role("button", name="Next image").click()
    expect(picture).to_have_accessible_name("A red fox")
    expect(large).to_contain_text("1 of 3")
    with citing.expect_download() as download:
        large.get_by_role("button", name="Save the image").click()
    assert download.value.suggested_filename.startswith("draw-")
    citing.keyboard.press("Escape")
    expect(large).to_be_hidden()
    expect(links.nth(1)).to_be_focused()
    url = citing.url
    links.first.click()
    expect(large).to_be_visible()
    citing.go_back()
    expect(large).to_be_hidden()
    assert citing.url == url

    # After signing out, in any tab, nobody sees them.
    links.first.click()
    expect(large).to_be_visible()
    citing.locator("agui-chat").evaluate("chat => chat.session.hear({ kind: 'signed-out' })")
    expect(large).to_have_count(0)

    # A page whose requests have headers, and no cookies, gets the picture by them.
    citing.route(
        "**/attachments/*/",
        lambda route: route.abort() if route.request.resource_type == "image" else route.continue_(),
    )
    citing.goto(url)
    expect(citing.locator(".image-link canvas")).to_have_count(3)
