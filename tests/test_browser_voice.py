"""The microphone in a real Chromium, whose device beeps: the service that writes down what is said is a fake."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from conftest import MANUAL
from daily import at_night
from pages import SECONDS, Page, drawn, expect, finished, first, message_box, say, thread_id
from servers import LiveProject, serve

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
TRACKS = "streams.flatMap((stream) => stream.getTracks())"
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
LISTENING = f"() => {TRACKS}.filter(({{ readyState }}) => readyState === 'live').length"


class Ear(ThreadingHTTPServer):
    """OpenAI's `POST /v1/audio/transcriptions`: what it is to answer, and what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), EarHandler)
        self.forget()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def forget(self) -> None:
        self.status, self.text = 200, "buy milk"
        self.recordings: list[bytes] = []
        self.may_answer = threading.Event()
        self.may_answer.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class EarHandler(BaseHTTPRequestHandler):
    server: Ear

    def do_POST(self) -> None:
        ear = self.server
        ear.recordings.append(self.rfile.read(int(self.headers["Content-Length"])))
        ear.may_answer.wait(SECONDS)
        body = json.dumps({"text": ear.text}).encode()
        with suppress(OSError):  # the project hangs up when its client has
            self.send_response(ear.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args) -> None:
        pass


@pytest.fixture(scope="session")
def one_ear() -> Iterator[Ear]:
    with Ear() as ear:
        yield ear
        ear.shutdown()


@pytest.fixture
def ear(one_ear: Ear) -> Ear:
    one_ear.forget()
    return one_ear


@pytest.fixture(scope="session")
def listening_project(site: LiveProject, one_ear: Ear) -> Iterator[LiveProject]:
    """The same project, served by a second process that listens."""
    with serve(site.path, TRANSCRIPTION_URL=one_ear.url, TRANSCRIPTION_API_KEY="sk-1") as live:
        yield live


@pytest.fixture
def open_page(new_page: Callable[..., Page], listening_project: LiveProject, signed_in: dict):
    def open_page(script: str = STREAMS, **options) -> Page:
        page = new_page(storage_state=signed_in, **options)
        page.add_init_script(script)
        page.goto(listening_project.url)
        expect(message_box(page)).to_be_visible()
        return page

    return open_page


@pytest.fixture
def talker(open_page, ear: Ear) -> Page:
    """A signed-in page that may use the microphone."""
    return open_page()


def microphone(page: Page):
    return page.get_by_role("button", name="Dictate")


def the_end(page: Page):
    return page.get_by_role("button", name="End the recording")


def bar(page: Page):
    return page.locator("agui-chat .voice")


def begin(page: Page) -> None:
    microphone(page).click()
    expect(the_end(page)).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("timer")).to_be_visible()
    page.evaluate(HEARD)


def dictate(page: Page) -> None:
    """Say something, and wait until the server has it."""
    begin(page)
    the_end(page).click()


def is_silent(page: Page) -> None:
    page.wait_for_function(f"() => streams.length && !({LISTENING})()")


@pytest.mark.nightly
def test_the_manuals_own_page_gets_a_text(talker, ear):
    """The program of agui/manual/page.md for pages without the chat's microphone."""
    manual = (MANUAL / "page.md").read_text()
    [code] = re.findall(r"^```js\n(const recorder.*?)^```$", manual, re.M | re.S)
    # Another recorder of the same stream tells when there is something to hear.
    listen = "recorder.start(); window.begun = recorder; new MediaRecorder(recorder.stream).start();"
    talker.evaluate(f"async () => {{ {code} {listen} }}")
    talker.evaluate(HEARD)
    with talker.expect_response("**/agent/transcribe/") as answer:
        talker.evaluate("begun.stop()")
    assert answer.value.json() == {"text": ear.text}


# --- What is said


def test_words_come_to_the_cursor_and_are_not_sent(talker, ear):
    message_box(talker).fill("Please before noon")
    for _ in "before noon":
        message_box(talker).press("ArrowLeft")
    ear.text = " buy milk and "
    begin(talker)
    expect(bar(talker)).to_contain_text("Recording")
    assert talker.evaluate(LISTENING) == 1
    the_end(talker).click()
    expect(message_box(talker)).to_have_value("Please buy milk and before noon")
    expect(message_box(talker)).to_be_focused()
    assert message_box(talker).evaluate("input => input.selectionStart") == len("Please buy milk and ")
    is_silent(talker)
    expect(microphone(talker)).to_have_attribute("aria-pressed", "false")
    expect(talker.locator(".bubble")).to_have_count(0)
    [recording] = ear.recordings
    assert b"\x1a\x45\xdf\xa3" in recording  # as the browser made it
    talker.reload()
    expect(message_box(talker)).to_have_value("Please buy milk and before noon")


@pytest.mark.nightly
def test_second_press_does_nothing_while_it_is_written_down(talker, ear):
    ear.may_answer.clear()
    dictate(talker)
    expect(bar(talker)).to_contain_text("Transcribing")
    expect(microphone(talker)).to_have_attribute("aria-disabled", "true")
    expect(microphone(talker)).to_be_focused()
    is_silent(talker)
    microphone(talker).press("Enter")
    talker.wait_for_function("() => streams.length === 1")
    expect(bar(talker)).to_contain_text("Transcribing")
    ear.may_answer.set()
    expect(message_box(talker)).to_have_value("buy milk")
    assert len(ear.recordings) == 1


@pytest.mark.nightly
@pytest.mark.parametrize("limit", ["bytes", "minutes"])
def test_recording_ends_by_itself(talker, ear, limit):
    if limit == "bytes":
        talker.locator("agui-chat").evaluate("chat => (chat.dataset.maxRecordingBytes = 1)")
    begin(talker)
    if limit == "minutes":
        talker.evaluate("() => { const now = performance.now() + 5 * 60 * 1000; performance.now = () => now; }")
    expect(message_box(talker)).to_have_value("buy milk")
    is_silent(talker)


def test_voice_comes_with_its_first_use_and_only_where_somebody_listens(new_page, chat, open_page, ear):
    expect(microphone(chat)).to_have_count(0)
    requests: list[str] = []
    page = new_page(storage_state=chat.context.storage_state())
    page.on("request", lambda request: requests.append(request.url))
    page.goto(open_page().url)
    expect(microphone(page)).to_be_visible()
    page.wait_for_load_state("networkidle")
    # The button alone, which production has in the page's file.
    assert not [url for url in requests if re.search(r"voice/(?!microphone)|frame|capabilities|transcribe", url)]
    microphone(page).click()
    expect(the_end(page)).to_be_visible()
    names = {re.sub(r".*/(.*)\.[0-9a-f]{12}", r"\1", url) for url in requests}
    assert names >= {"voice.js", "agui-frame.css"}


@pytest.mark.nightly
@pytest.mark.parametrize("missing", ["window.MediaRecorder", "Navigator.prototype.mediaDevices"])
def test_browser_that_cannot_record_has_no_button(open_page, ear, missing):
    page = open_page(script=f"delete {missing};")
    expect(page.get_by_role("button", name="Attach files")).to_be_visible()
    expect(microphone(page)).to_have_count(0)


# --- What is not to be heard


def test_escape_discards_the_recording_and_nothing_else(talker, ear):
    message_box(talker).fill("as it was")
    begin(talker)
    talker.keyboard.press("Escape")
    is_silent(talker)
    expect(microphone(talker)).to_be_focused()
    expect(bar(talker).get_by_role("status")).to_have_text("The recording was discarded.")
    begin(talker)
    message_box(talker).focus()
    bar(talker).get_by_role("button", name="Discard (Esc)").click()
    is_silent(talker)
    expect(microphone(talker)).to_be_focused()
    expect(message_box(talker)).to_have_value("as it was")
    assert ear.recordings == []


# A microphone that never gives a sample, as a real one in its first tenth of a second.
NOTHING_YET = """
MediaDevices.prototype.getUserMedia = async () => {
    const context = new AudioContext();
    await context.suspend();
    return context.createMediaStreamDestination().stream;
};
"""


@pytest.mark.nightly
def test_a_recording_of_nothing_asks_nobody(open_page, ear):
    page = open_page(script=NOTHING_YET + STREAMS)
    microphone(page).click()
    the_end(page).click()
    expect(bar(page).get_by_role("status")).to_have_text("Nothing was understood.")
    expect(bar(page).get_by_role("button", name="Try again")).to_have_count(0)
    is_silent(page)
    assert ear.recordings == []


@pytest.mark.nightly
def test_words_that_are_discarded_do_not_come(talker, ear):
    ear.may_answer.clear()
    dictate(talker)
    expect(bar(talker)).to_contain_text("Transcribing")
    talker.keyboard.press("Escape")
    expect(microphone(talker)).not_to_have_attribute("aria-disabled", "true")
    ear.may_answer.set()
    begin(talker)
    ear.text = "the second"
    the_end(talker).click()
    expect(message_box(talker)).to_have_value("the second")


LEAVE = {
    "removed": "chat => chat.remove()",
    "new-chat": "chat => chat.newChat()",
    "other-thread": "chat => chat.openThread('another')",
    "collapsed": "chat => chat.toggle(true)",
    "signed-out": "chat => chat.session.signOut()",
}


@pytest.mark.nightly
@pytest.mark.parametrize("way", LEAVE)
def test_nothing_is_heard_after(talker, ear, way):
    if way == "new-chat":
        say(talker, "hello")
        finished(talker)
        thread_id(talker)
    begin(talker)
    talker.locator("agui-chat").evaluate(LEAVE[way])
    is_silent(talker)
    if way != "removed":
        expect(talker.locator("agui-chat .voice")).not_to_have_attribute("data-state", "recording")
    assert ear.recordings == []


@pytest.mark.nightly
def test_permission_that_comes_too_late_is_given_back(open_page, ear):
    asking = "await new Promise((go) => (window.allow = go)); const stream"
    page = open_page(script=STREAMS.replace("const stream", asking))
    microphone(page).click()
    expect(bar(page)).to_contain_text("Allow the microphone")
    page.wait_for_function("() => window.allow")
    page.keyboard.press("Escape")
    expect(bar(page)).not_to_have_attribute("data-state", "asking")
    page.evaluate("allow()")
    is_silent(page)
    expect(microphone(page)).to_be_visible()


# --- What can go wrong


# What the specification says that a browser does; here it would wait for somebody who answers.
REFUSES = """
const ask = MediaDevices.prototype.getUserMedia;
MediaDevices.prototype.getUserMedia = function (...options) {
    if (window.allowed) return ask.apply(this, options);
    return Promise.reject(new DOMException("", "NotAllowedError"));
};
"""


def test_refusal_of_the_browser_is_told(open_page, ear):
    page = open_page(script=STREAMS + REFUSES)
    microphone(page).click()
    expect(bar(page).get_by_role("status")).to_have_text("The browser does not let this page use the microphone.")
    page.evaluate("window.allowed = true")
    dictate(page)
    expect(message_box(page)).to_have_value("buy milk")
    expect(bar(page).get_by_role("status")).to_have_text("")


@pytest.mark.nightly
def test_missing_microphone_is_told(open_page, ear):
    page = open_page(
        script="MediaDevices.prototype.getUserMedia = async () => { throw new DOMException('', 'NotFoundError'); }"
    )
    microphone(page).click()
    expect(bar(page).get_by_role("status")).to_have_text("No working microphone was found.")
    bar(page).get_by_role("button", name="Dismiss").click()
    expect(microphone(page)).to_be_focused()
    expect(bar(page).get_by_role("status")).to_have_text("")


@pytest.mark.nightly
@pytest.mark.parametrize("answer", ["refused", "empty"])
def test_what_nobody_understands_is_not_sent_again(talker, ear, answer):
    ear.status, ear.text = (400, "") if answer == "refused" else (200, "  ")
    dictate(talker)
    expect(bar(talker).get_by_role("status")).to_have_text("Nothing was understood.")
    expect(talker.get_by_role("button", name="Try again")).to_be_hidden()
    assert len(ear.recordings) == 1


@pytest.mark.parametrize("failure", ["network", *at_night("service")])
def test_recording_is_sent_again_without_being_spoken_again(talker, ear, failure):
    if failure == "network":
        talker.route("**/agent/transcribe/", lambda route: route.abort(), times=1)
    else:
        ear.status = 500
    dictate(talker)
    expected = {
        "network": "The connection to the server was lost.",
        "service": "The recording could not be transcribed.",
    }
    expect(bar(talker).get_by_role("status")).to_have_text(expected[failure])
    ear.status = 200
    talker.get_by_role("button", name="Try again").click()
    expect(message_box(talker)).to_have_value("buy milk")
    expect(message_box(talker)).to_be_focused()
    assert talker.evaluate("streams.length") == 1


@pytest.mark.nightly
def test_recording_outlives_the_end_of_a_session(talker, ear, signed_in):
    talker.context.clear_cookies()
    dictate(talker)
    expect(bar(talker).get_by_role("status")).to_contain_text("You are signed out.")
    expect(bar(talker).get_by_role("link", name="Sign in")).to_have_attribute("target", "_blank")
    talker.context.add_cookies(signed_in["cookies"])
    talker.get_by_role("button", name="Try again").click()
    expect(message_box(talker)).to_have_value("buy milk")


@pytest.mark.nightly
def test_limits_are_told(talker, ear):
    def refuse(status: int, **headers: str) -> None:
        answer = {"error": "x", "message": "No."}
        talker.route(
            "**/agent/transcribe/", lambda route: route.fulfill(status=status, headers=headers, json=answer), times=1
        )
        dictate(talker)

    refuse(429, **{"Retry-After": "40"})
    expect(bar(talker).get_by_role("status")).to_contain_text("Try again in 40 seconds.")
    expect(talker.get_by_role("button", name="Try again")).to_be_visible()
    refuse(413)
    expect(bar(talker).get_by_role("status")).to_have_text("The recording is too long.")
    expect(talker.get_by_role("button", name="Try again")).to_be_hidden()


@pytest.mark.nightly
def test_page_of_ones_own_sends_its_own_credentials(talker, ear):
    """As every request of the element: by `request`, with `getHeaders`."""
    held: list = []
    talker.route("**/agent/transcribe/", lambda route: held.append(route))
    talker.locator("agui-chat").evaluate("chat => (chat.getHeaders = () => ({ Authorization: 'Bearer mine' }))")
    dictate(talker)
    assert first(talker, held).request.headers["authorization"] == "Bearer mine"
    held[0].continue_()
    drawn(talker)
