"""The microphone in a real Chromium, whose device beeps: the service that writes down what is said is a fake.

What else may happen to a recording is in tests/element/dictation.test.mjs.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from conftest import MANUAL
from pages import Page, asked, drawn, expect, first, hold, message_box
from servers import LiveProject, Quiet, answering, serve

pytestmark = pytest.mark.browser

# What the page has been given to listen with.
STREAMS = """
    window.streams = [];
    const devices = MediaDevices.prototype, { getUserMedia } = devices;
    devices.getUserMedia = async function (...asked) {
        const stream = await getUserMedia.apply(this, asked);
        streams.push(stream);
        return stream;
    };
    const recorder = MediaRecorder.prototype, { start } = recorder;
    recorder.start = function (...asked) {
        window.recorder = this;
        return start.apply(this, asked);
    };
"""
LIVE = "streams.flatMap((stream) => stream.getTracks()).filter(({ readyState }) => readyState === 'live').length"
# Chromium has nothing to tell of the first tenth of a second.
HEARD = """() => new Promise((heard) => {
    recorder.addEventListener("dataavailable", ({ data }) => data.size && heard());
    const ask = () => {
        if (recorder.state !== "recording") return heard();
        recorder.requestData();
        setTimeout(ask, 20);
    };
    ask();
})"""
TEXT = " buy milk and "
RECORDINGS: list[bytes] = []


class Ear(Quiet):
    """OpenAI's `POST /v1/audio/transcriptions`. RECORDINGS has what it was sent."""

    def do_POST(self) -> None:
        RECORDINGS.append(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps({"text": TEXT}).encode()
        with suppress(OSError):  # the project hangs up when its client has
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)


@pytest.fixture(scope="module")
def listening_project(site: LiveProject) -> Iterator[LiveProject]:
    """The same project, served by a second process that listens."""
    with (
        answering(Ear) as ear,
        serve(site.path, TRANSCRIPTION_URL=f"{ear.url}/v1", TRANSCRIPTION_API_KEY="sk-1") as live,
    ):
        yield live


@pytest.fixture
def talker(new_page: Callable[..., Page], listening_project: LiveProject, signed_in: dict) -> Page:
    """A signed-in page that may use the microphone."""
    page = new_page(storage_state=signed_in)
    page.add_init_script(STREAMS)
    page.goto(listening_project.url)
    expect(message_box(page)).to_be_visible()
    return page


def microphone(page: Page):
    return page.get_by_role("button", name="Dictate")


def the_end(page: Page):
    return page.get_by_role("button", name="End the recording")


def begin(page: Page) -> None:
    microphone(page).click()
    expect(the_end(page)).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("timer")).to_be_visible()
    page.evaluate(HEARD)


@pytest.mark.nightly
def test_the_manuals_own_page_gets_a_text(talker):
    """The program of agui/manual/page.md for pages without the chat's microphone."""
    manual = (MANUAL / "page.md").read_text()
    [code] = re.findall(r"^```js\n(const recorder.*?)^```$", manual, re.M | re.S)
    # Another recorder of the same stream tells when there is something to hear.
    listen = "recorder.start(); window.begun = recorder; new MediaRecorder(recorder.stream).start();"
    talker.evaluate(f"async () => {{ {code} {listen} }}")
    talker.evaluate(HEARD)
    with talker.expect_response("**/agent/transcribe/") as answer:
        talker.evaluate("begun.stop()")
    assert answer.value.json() == {"text": TEXT.strip()}


def test_words_come_to_the_cursor_and_are_not_sent(talker):
    message_box(talker).fill("Please before noon")
    for _ in "before noon":
        message_box(talker).press("ArrowLeft")
    begin(talker)
    assert talker.evaluate(LIVE) == 1
    the_end(talker).click()
    expect(message_box(talker)).to_have_value("Please buy milk and before noon")
    expect(message_box(talker)).to_be_focused()
    assert message_box(talker).evaluate("input => input.selectionStart") == len("Please buy milk and ")
    talker.wait_for_function(f"() => {LIVE} === 0")
    expect(microphone(talker)).to_have_attribute("aria-pressed", "false")
    expect(talker.locator(".bubble")).to_have_count(0)
    assert b"\x1a\x45\xdf\xa3" in RECORDINGS[-1]  # as the browser made it
    talker.reload()
    expect(message_box(talker)).to_have_value("Please buy milk and before noon")
    # A page's own credentials go with a recording, as with every request of the element.
    held = hold(talker, "**/agent/transcribe/")
    talker.locator("agui-chat").evaluate("chat => (chat.getHeaders = () => ({ Authorization: 'Bearer mine' }))")
    begin(talker)
    the_end(talker).click()
    assert first(talker, held).request.headers["authorization"] == "Bearer mine"
    # Escape takes the recording back, and leads to the microphone.
    talker.keyboard.press("Escape")
    drawn(talker)
    expect(microphone(talker)).to_be_focused()


def test_voice_comes_with_its_first_use_and_only_where_somebody_listens(new_page, chat, listening_project, signed_in):
    expect(microphone(chat)).to_have_count(0)
    page = new_page(storage_state=signed_in)
    requests = asked(page)
    page.goto(listening_project.url)
    expect(microphone(page)).to_be_visible()
    page.wait_for_load_state("networkidle")
    # The button alone, which production has in the page's file.
    assert not [url for url in requests if re.search(r"voice/(?!microphone)|frame|capabilities|transcribe", url)]
    microphone(page).click()
    expect(the_end(page)).to_be_visible()
    names = {re.sub(r".*/(.*)\.[0-9a-f]{12}", r"\1", url) for url in requests}
    assert names >= {"voice.js", "agui-frame.css"}
