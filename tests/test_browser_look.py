"""How the chat looks and reads: no finding of axe-core in any state; every placement, language and colour scheme."""

import json
import os
import re
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import pytest
from conftest import npm_install
from daily import at_night
from page_costs import open_thread
from page_events import (
    BOOKING,
    FINISHED,
    STARTED,
    begun,
    begun_text,
    custom,
    ended,
    failed,
    keep_thread,
    question,
    show_answer,
    shown,
    waiting,
)
from pages import Page, Route, drawn, expect, first, hold, message_box, speak

pytestmark = pytest.mark.browser
PHONE = {"width": 380, "height": 740}
WINDOW = {"width": 980, "height": 800}  # The list of conversations lies over the chat
NARROW = {"width": 320, "height": 640}
ZOOMED = {"width": 640, "height": 400}  # A window of 1280 by 800 pixels at 200 %
# What one page goes through in each state: how the system has it, and how large the window is.
MODES: dict[str, tuple[dict, dict | None]] = {
    "light": ({}, None),
    "dark": ({"color_scheme": "dark"}, None),
    "forced-colors": ({"forced_colors": "active"}, None),
    "narrow": ({"color_scheme": "dark"}, NARROW),
    "zoomed": ({}, ZOOMED),
}
DAY = ["light", "dark"]
# The pages, by their language: their window, and the modes of each state.
PAGES: dict[str, tuple[dict, list[str]]] = {
    "en": ({"viewport": WINDOW}, DAY),
    "en, every mode": ({"viewport": WINDOW}, list(MODES)),
    "ar": ({"viewport": PHONE, "has_touch": True}, ["dark"]),
    "de": ({"viewport": NARROW}, ["forced-colors"]),
}
# What depends on colours and sizes; the rest is the same everywhere.
COLOURS = ["color-contrast", "link-in-text-block"]
VISUAL = [*COLOURS, "target-size", "scrollable-region-focusable"]
PAGE = "html"

# A stand-in for the agent on the page: says what it is told to, when it is told to.
AGENT = """
    const chat = document.querySelector("agui-chat");
    const request = chat.request.bind(chat);
    const text = new TextEncoder();
    window.agent = {
        number: 0,
        say(events) {
            for (const event of events) {
                const frame = `id: r:${++this.number}\\ndata: ${JSON.stringify(event)}\\n\\n`;
                this.stream.enqueue(text.encode(frame));
            }
        },
        end() {
            try {
                this.stream.close();
            } catch {
                // The element has left.
            }
            this.stream = null;
        },
    };
    chat.request = async (url, init) => {
        if (new URL(url, location).pathname !== "/agent/") return request(url, init);
        const body = new ReadableStream({ start: (stream) => void (agent.stream = stream) });
        return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
    };
"""
# A page has these only if the project has records to mention, and a model that listens.
MODULES = {"list:@": "mentions/mentions.js", "composer:voice": "voice/microphone.js"}
LONG = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenhersteller"
MARKDOWN = f"""## What I found

Three of **seven** tasks are late, see [the list](https://example.org/tasks). The longest word is {LONG}{LONG}.

| Task | Due | Owner |
|---|---|---:|
| Write the report | Monday | Ada |
| Call the landlord about the heating, the window and the door | Tuesday | Grace |

1. First `make setup`
   - nested
2. Then this:

```python
@cached("a")
def answer(question: str) -> int:
    return 42  # a long line, so that the code has to scroll sideways on any screen that is narrower than this line
```

> Quoted words.
"""
MARKDOWN += r"""
The roots are $x_{1,2} = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}$, and not \(\unknown\):

$$
1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 + 12 + 13 + 14 + 15 + 16 + 17 + 18 + 19 + \cdots + n = \sum_{k=1}^n k
$$
"""


# What an answer has besides its text.
ADDITIONS = {
    "answer_cut": {"messageId": "m1", "reason": "length"},
    "files_left_out": {"messageId": "m1", "files": [{"mime": "audio/wav", "size": 3}]},
    "follow_ups": {"messageId": "m1", "suggestions": ["And then?", LONG]},
}
SELECT = """() => {
    const root = document.querySelector("agui-chat").shadowRoot;
    getSelection().selectAllChildren(root.querySelector(".assistant .prose p"));
    root.querySelector(".log").dispatchEvent(new PointerEvent("pointerup", { bubbles: true }));
}"""
DIRECTION = "element => getComputedStyle(element).direction"


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core."""
    modules = npm_install(Path(__file__).parent / "axe" / "package.json")
    return (modules / "axe-core/axe.min.js").read_text()


@pytest.fixture
def look(axe: str, request: pytest.FixtureRequest):
    """See how a page looks: `look(page, "empty")` keeps a picture; in the end nothing may have been found.

    `within` is the part to look at: a part of the chat by its class, one of the page by its name or id.
    """
    found: list[str] = []

    def look(page: Page, name: str, rules: list[str] | None = None, within: str = PAGE) -> None:
        drawn(page)
        if directory := os.environ.get("SCREENSHOTS"):
            title = request.node.name.partition("[")[2].rstrip("]") or request.node.name
            page.screenshot(path=Path(directory) / f"{title}-{name}.png", animations="disabled")
        if page.evaluate("typeof axe") == "undefined":
            page.evaluate(f"{axe};0")
        options = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}
        options |= {"runOnly": rules} if rules else {}
        run = "([within, options]) => axe.run(within, options).then((result) => result.violations)"
        if within.startswith("."):
            is_there = page.locator(f"agui-chat {within}").count()  # A mode may have taken it away.
            place: str | dict = {"fromShadowDom": ["agui-chat", within]} if is_there else PAGE
        else:
            place = within
        for rule in page.evaluate(run, [place, options]):
            found.extend(f"{name}: {rule['id']}: {node['target']} {node['failureSummary']}" for node in rule["nodes"])

    yield look
    assert found == []


@pytest.fixture
def open_chat(open_page: Callable[..., Page], site):
    """A signed-in page with the stand-in for an agent. axe-core needs what the Content-Security-Policy forbids."""

    def open_chat(language: str = "en", models: list[str] | None = None, **options) -> Page:
        # Still, as the contrast of what moves is another one in each picture.
        page = open_page(None, bypass_csp=True, reduced_motion="reduce", **options)
        set_language(page, site.url, language, models or [])
        page.goto(site.url)
        expect(page.locator("agui-chat .input")).to_be_visible()
        page.evaluate(f"() => {{ {AGENT} }}")
        return page

    return open_chat


def set_language(page: Page, url: str, language: str, models: list[str]) -> None:
    """Serve the page as a project in that language would, one that listens and lets users choose a model."""
    more = 'data-transcribe-url="/agent/transcribe/" data-mentions-url="/agent/mentions/"'
    more += f" data-models='{json.dumps(models)}'" if models else ""
    named = [f"&quot;{place}&quot;: &quot;/static/agui_{path}&quot;, " for place, path in MODULES.items()]

    def change(text: str) -> str:
        text, count = re.subn(r'data-modules="\{', r"\g<0>" + "".join(named), text)
        assert count == 1
        return text.replace("<agui-chat", f"<agui-chat {more}")

    speak(page, url, language, change)


def write(page: Page, text: str) -> None:
    page.locator("agui-chat .input").fill(text)


def reply(page: Page, *events: dict) -> None:
    """Begin to answer what was sent."""
    page.wait_for_function("() => Boolean(agent.stream)")
    answer(page, STARTED, *events)


def ask(page: Page, text: str, *events: dict) -> None:
    """Send a message, and begin to answer it."""
    write(page, text)
    page.locator("agui-chat .input").press("Enter")
    reply(page, *events)


def answer(page: Page, *events: dict) -> None:
    page.evaluate("events => agent.say(events)", list(events))
    drawn(page)


def end(page: Page, *events: dict) -> None:
    answer(page, *(events or [FINISHED]))
    page.evaluate("agent.end()")
    expect(page.locator("agui-chat .icon-send")).to_be_visible()
    drawn(page)


def keep_messages(page: Page) -> dict:
    """Keep the messages that are sent during a run, as the server does."""
    server: dict = {"messages": [], "run": {"run_id": "r"}, "held": None}

    def respond(route: Route) -> None:
        stand = {"run": server["run"], "held": server["held"], "refusal": None}
        if route.request.method != "POST":
            return route.fulfill(json=server)
        sent = route.request.post_data_json
        row = sent | {"message_id": sent["message"]["id"], "state": "waiting"}
        server["messages"] = [*server["messages"], row]
        return route.fulfill(status=202, json=row | stand)

    page.route(re.compile(r"/threads/[^/]+/messages/"), respond)
    return server


def new_chat(page: Page) -> None:
    page.locator("agui-chat .header .icon-compose").click()
    expect(page.locator("agui-chat .messages > *")).to_have_count(0)


# --- The states of a page: each says what is new in it, which is all that axe looks at by day


def a_run(page: Page) -> Iterator[tuple[str, str]]:
    """From an empty chat to an answer."""
    inside = page.locator("agui-chat")
    yield "empty", PAGE
    page.locator(".avatar").click()
    expect(page.locator("#account-menu")).to_be_visible()
    page.locator(".languages summary").click()
    yield "menu", "#account-menu"
    page.keyboard.press("Escape")
    expect(page.locator("#account-menu")).to_be_hidden()
    write(page, "/")
    expect(inside.locator(".palette")).to_be_visible()
    yield "palette", ".palette"
    mentions = [{"kind": "task", "id": str(number), "title": LONG, "detail": "home"} for number in range(3)]
    page.route("**/agent/mentions/*", lambda route: route.fulfill(json={"mentions": mentions}))
    write(page, "See @Donau")
    expect(inside.locator(".option-title").first).to_have_text(LONG)
    yield "mentions", ".palette"
    write(page, "")
    ask(page, "What is late? " * 200)
    expect(inside.locator(".button.fold")).to_be_visible()
    answer(
        page,
        {"type": "REASONING_MESSAGE_START", "messageId": "th", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "th", "delta": "First I look at **all** tasks."},
    )
    inside.locator(".reasoning summary").click()
    yield "long-message-and-reasoning", ".transcript"
    answer(page, {"type": "REASONING_MESSAGE_END", "messageId": "th"})
    answer(page, *begun("c1", "list_tasks", {"done": False, "words": LONG}), *begun("c2", "add_task")[:1])
    expect(inside.locator(".tool .tool-status")).to_have_count(2)
    answer(page, *begun("c3", "add_task", {"title": LONG * 3, "nested": {"a": [1, 2]}}), ended("c3", {"id": 3}))
    answer(page, *begun("c4", "delete_task"), ended("c4", "There is no task 4.", outcome="failed", duration_ms=1234))
    answer(page, *begun("c5", "delete_finished_tasks"), ended("c5", "No.", outcome="denied"))
    calls = inside.locator(".tool:not([data-status=streaming])")
    expect(calls).to_have_count(4)
    for number in range(4):
        # Not by a click: each card that opens moves the next one.
        calls.nth(number).locator("summary").press("Enter")
    expect(inside.locator(".tool-details[open] > .tool-body > :first-child")).to_have_count(4)
    yield "tools", ".tool"
    tasks = [{"id": number, "title": LONG, "category": "home", "done": number == 1} for number in range(3)]
    answer(page, *begun("c6", "list_tasks"), ended("c6", tasks))
    for number in range(7, 12):
        answer(page, *begun(f"c{number}", "add_task"), ended(f"c{number}", {}))
    expect(page.locator("agui-chat .tasks [type=checkbox]")).to_have_count(3)
    expect(inside.locator(".tool.faced > :not(.face)").first).to_be_hidden()
    expect(inside.locator(".tools-fold")).to_be_visible()
    yield "tools-drawn-and-folded", PAGE
    server = keep_messages(page)
    write(page, "And then the others, please.")
    inside.locator(".input").press("Enter")
    write(page, LONG * 3)
    inside.locator(".input").press("Control+Enter")
    expect(inside.locator(".waiting-rows > li:not(.unsent)")).to_have_count(2)
    write(page, "And one more.")
    expect(inside.locator(".when-read")).to_be_visible()
    yield "choosing-and-waiting", ".composer"
    write(page, "")
    inside.locator(".waiting-rows .icon-edit").first.click()
    expect(inside.locator(".waiting-edit")).to_be_visible()
    yield "waiting-edited", ".waiting-panel"
    page.keyboard.press("Escape")
    held = server["messages"]
    message = held[1]["message"] | {"metadata": {"read_in_run": True}}
    server |= {"messages": [], "run": None, "held": "finished"}
    read = {"messageId": message["id"], "message": message, "mode": "steer", "after": "m1"}
    answer(page, custom("message_delivered", read))
    expect(inside.locator(".in-run")).to_be_visible()
    answer(page, custom("message_removed", {"messageId": held[0]["message_id"]}))
    expect(inside.locator(".waiting-panel")).to_be_hidden()
    answer(page, *begun_text(MARKDOWN, "m1"))
    expect(inside.locator(".prose table")).to_be_visible()
    expect(inside.locator(".prose math")).to_have_count(2)
    answer(page, *(custom(name, value) for name, value in ADDITIONS.items()))
    end(page, FINISHED | {"usage": [{"inputTokens": 1234, "outputTokens": 56}]})
    expect(inside.get_by_role("group").get_by_role("button", name=LONG)).to_be_visible()
    yield "answered", PAGE
    # What waits after a failure.
    server |= {"messages": held, "held": "failed"}
    page.evaluate("dispatchEvent(new Event('focus'))")
    expect(inside.locator(".waiting-head .button")).to_be_visible()
    yield "held", ".waiting-panel"
    server["messages"] = []
    page.evaluate("dispatchEvent(new Event('focus'))")
    expect(inside.locator(".waiting-panel")).to_be_hidden()
    drawn(page)  # The log has grown and scrolls, which takes the button away.
    page.evaluate(SELECT)
    expect(inside.locator(".quote-selection")).to_be_visible()
    yield "selected", ".quote-selection"


def activities(page: Page) -> Iterator[tuple[str, str]]:
    steps = [{"title": f"{status} {LONG}", "status": status} for status in ("done", "running", "failed", "pending")]
    rows = [[f"Task {number}", number * 1234.5, None, True] for number in range(12)]
    new_chat(page)
    ask(page, "Show me", shown("plan", {"title": "Trip", "steps": steps}, "plan"))
    answer(page, shown("table", {"title": "Tasks", "columns": ["Name", "Hours", "Due", "Late"], "rows": rows}, "table"))
    series = [{"name": "Open", "values": [3, 5, 1.5]}, {"name": "Done", "values": [1, None, 4]}]
    chart = {"title": "Tasks", "labels": ["Work", "Home", "Garden"], "series": series, "unit": "h"}
    for kind in ("bar", "line", "pie"):
        answer(page, shown("chart", chart | {"type": kind}, kind))
    answer(page, shown("something_else", {"a": 1}, "own"))
    end(page)
    expect(page.locator("agui-chat .plot svg").nth(2)).to_be_visible()
    yield "activities", ".transcript"


def sources(page: Page) -> Iterator[tuple[str, str]]:
    told = [
        {"number": 1, "title": LONG, "url": "https://example.com/" + "x" * 200, "quote": LONG * 3},
        {"number": 2, "title": "ساعات العمل", "url": "/help/", "quote": "نفتح في التاسعة."},
        {"number": 3, "title": "Handbook"},
    ]
    new_chat(page)
    ask(page, "When do you open?", *begun_text("At **nine** [1], or later [2][3].", "s1"))
    answer(page, custom("sources", {"messageId": "s1", "sources": told}))
    end(page)
    marks, card = page.locator("agui-chat .source-mark"), page.locator("agui-chat .source-card")
    marks.last.click()
    expect(card).to_contain_text("ساعات العمل")
    yield "several-sources", ".source-card"
    page.keyboard.press("Escape")
    marks.first.click()
    expect(card).to_contain_text(LONG)
    yield "source", ".source-card"
    card.locator("button").last.click()
    expect(page.locator("agui-chat .sources li").first).to_be_focused()
    yield "sources", ".transcript"


def documents(page: Page) -> Iterator[tuple[str, str]]:
    table = {"columns": ["Name", LONG], "rows": [[f"Task {number}", number] for number in range(40)]}
    kinds = [
        {"kind": "markdown", "text": ["# Report\n\nAll **well**.\n\n", f"- {LONG}\n- [list](/list/)\n" * 30]},
        {"kind": "code", "language": "python", "text": ["def f():\n    return 1  # " + LONG * 3]},
        {"kind": "table", **table},
    ]
    new_chat(page)
    ask(page, "Write it", *begun_text("Here:", "d1"))
    for number, document in enumerate(kinds):
        content = {"id": "report", "title": f"Report {LONG}", **document}
        answer(page, shown("document", content, f"document{number}"))
    end(page)
    cards = page.locator("agui-chat .document-card")
    panel = page.locator("agui-chat .document-panel")
    close = panel.locator("button:has(.icon-close)")
    expect(cards).to_have_count(len(kinds))
    if page.viewport_size == WINDOW:
        close.click()  # The panel has opened by itself, as there is room.
    for card, document in zip(cards.all(), kinds, strict=True):
        card.click()
        expect(panel).to_be_visible()
        yield f"document-{document['kind']}", PAGE if document is kinds[0] else ".document-panel"
        close.click()


ORDER = {
    "lines": [{"title": LONG, "quantity": number, "price": 9.5, "sku": f"A-{number}"} for number in range(9)],
    "customer": {"name": "Ada", "address": {"street": LONG, "city": "London", "postcode": "SW1Y 4JH", "country": "GB"}},
    "to": [f"{number}@example.com" for number in range(9)],
    "patch": f"@@ -1 +1 @@\n-{LONG * 4}\n+new",
}
SEVERAL = [
    {"id": f"s{number}", "toolCallId": f"s{number}", "message": f"Order {number}? {LONG}"}
    | {"metadata": {"toolName": "order", "x-destructive": number == 1, "arguments": json.dumps(ORDER)}}
    for number in range(3)
]


def questions(page: Page) -> Iterator[tuple[str, str]]:
    inside = page.locator("agui-chat")
    changes = {"type": "object", "properties": {"title": {"type": "string"}, "days": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"approved": {"type": "boolean"}, "editedArgs": changes}}
    gate = question("g", schema, reason="tool_call", toolCallId="d1", metadata={"x-destructive": True})
    new_chat(page)
    ask(page, "Clean up", *begun("d1", "delete_tasks", {"title": "old", "days": 3}))
    end(page, waiting(gate))
    expect(inside.locator(".question")).to_be_visible()
    yield "approval", PAGE
    buttons = inside.locator(".question-buttons button:visible")
    buttons.nth(1).click()
    yield "edited-arguments", ".question"
    buttons.last.click()
    buttons.last.click()
    yield "denial", ".question"
    buttons.first.click()
    reply(page)
    end(page, waiting(*(gate | one for one in SEVERAL)))
    expect(inside.locator(".open-bar")).to_be_visible()
    inside.locator(".fold summary").first.press("Enter")
    yield "several", ".transcript"
    approve = inside.locator(".open-bar .button.primary")
    while approve.get_attribute("aria-disabled"):
        approve.press("Enter")  # The press scrolls to the next unread line.
        page.wait_for_timeout(100)
    approve.click()
    expect(inside.locator(".question[data-decided]")).to_have_count(2)
    write(page, LONG)
    yield "recorded", ".panel"
    inside.locator(".input").press("Enter")
    reply(page)
    end(page, waiting(question("q", BOOKING)))
    expect(inside.locator(".question form")).to_be_visible()
    yield "form", ".question"
    inside.locator(".question-buttons button").last.click()
    reply(page)
    end(page, failed(LONG, "internal_error", runId="3f2a91bc", debug={"hint": LONG, "cause": LONG * 2}))
    expect(inside.locator(".failure")).to_be_visible()
    yield "failed", ".failure"


def files(page: Page) -> Iterator[tuple[str, str]]:
    """One that is on its way, and one that was refused."""
    page.route("**/agent/attachments/", lambda route: None)
    refusal = {"error": "x", "message": "No."}
    page.route("**/agent/attachments/", lambda route: route.fulfill(status=415, json=refusal), times=1)
    inside = page.locator("agui-chat")
    for name, status in (("refused", "failed"), (LONG, "uploading")):
        file = {"name": f"{name}.txt", "mimeType": "text/plain", "buffer": b"x"}
        inside.locator("input[type=file]").set_input_files(file)
        expect(inside.locator(f".file[data-status={status}]")).to_be_visible()
    yield "files", ".composer"


def voice(page: Page) -> Iterator[tuple[str, str]]:
    inside, held = page.locator("agui-chat"), hold(page, "**/agent/transcribe/")
    microphone = inside.locator(".icon-button[aria-pressed]:has(+ .send)")
    write(page, "What I have written")
    microphone.click()
    expect(inside.locator(".voice[data-state=recording]")).to_be_visible()
    yield "recording", ".composer"
    microphone.click()
    expect(inside.locator(".voice[data-state=transcribing]")).to_be_visible()
    yield "transcribing", ".voice"
    first(page, held).abort()
    expect(inside.locator(".voice[data-state=failed] .button")).to_be_visible()
    yield "recording-failed", ".voice"
    held.clear()
    inside.locator(".voice .button").click()
    first(page, held).fulfill(status=401, json={})
    expect(inside.locator(".voice a")).to_be_visible()
    yield "recording-signed-out", ".voice"
    inside.locator(".voice .icon-close").click()
    write(page, "")


def stored(page: Page, url: str) -> Iterator[tuple[str, str]]:
    """A thread as the server has it: what can be done with its messages, and with the list."""
    threads = [
        {"thread_id": f"t{n}", "title": title, "preview": "", "updated_at": f"{2026 - n}-01-02T10:00:00Z"}
        | {"unread": n == 1, "waiting": n == 2}
        for n, title in enumerate([LONG, "مهام الأسبوع", "Short"])
    ]
    found = {"excerpt": f"Good day, {LONG}, and good night.", "message_id": "a"}

    def list_threads(route: Route) -> None:
        words = found if "q=Good" in route.request.url else {}
        route.fulfill(json={"threads": [row | words for row in threads], "next": None})

    page.route(re.compile(r"/agent/threads/\?"), list_threads)
    page.route("**/feedback/", lambda route: route.fulfill(json={}))
    keep_thread(
        page,
        {"id": "u", "role": "user", "content": "Hello"},
        {"id": "a", "role": "assistant", "content": "Good day."},
        branches={"u": [{"id": f"e{number}", "text": "Hello", "current": number == 1} for number in range(3)]},
        feedback={"a": {"value": 1, "comment": ""}},
    )
    page.goto(f"{url}/?thread=t0")
    inside = page.locator("agui-chat")
    window = page.viewport_size
    expect(inside.locator(".pager")).to_be_visible()
    inside.locator(".icon-bad").click()
    expect(inside.locator(".feedback")).to_be_visible()
    yield "versions-and-feedback", ".transcript"
    inside.locator(".user").hover()
    inside.locator(".user .icon-edit").click()
    expect(inside.locator(".editor")).to_be_visible()
    yield "editor", ".editor"
    inside.locator(".header .icon-threads").click()
    expect(inside.locator(".drawer li")).to_have_count(3)
    inside.locator(".drawer li").nth(1).hover()
    inside.locator(".drawer li .icon-more").nth(1).click()
    expect(inside.locator("[role=menu]")).to_be_visible()
    yield "drawer-and-menu", PAGE
    inside.locator("[role=menu] .danger").click()
    expect(inside.locator(".undo-bar")).to_be_visible()
    # A title of the other direction does not turn the sentence around.
    bar, text = [inside.locator(place).evaluate(DIRECTION) for place in (".undo-bar", ".undo-bar > span")]
    assert bar == text
    inside.locator(".drawer li").nth(0).hover()
    inside.locator(".drawer li .icon-more").nth(0).click()
    inside.locator("[role=menuitem]").first.click()
    expect(inside.locator(".thread-input")).to_be_visible()
    yield "drawer-undo-rename", ".drawer"
    inside.locator(".thread-input").press("Escape")
    inside.locator(".drawer [type=search]").fill("Good")
    expect(inside.locator(".drawer .excerpt mark").first).to_be_visible()
    yield "drawer-found", ".drawer"
    row = threads.pop()
    threads.clear()
    inside.locator(".drawer [type=search]").fill("nothing")
    expect(inside.locator(".drawer .notice")).not_to_be_empty()
    yield "drawer-empty", ".drawer"
    threads.append(row)
    inside.locator(".drawer [type=search]").fill("")
    inside.locator(".drawer [type=search]").press("Escape")
    page.set_viewport_size({"width": 1200, "height": 800})
    inside.locator(".header .icon-threads").click()
    expect(inside.locator(".drawer.beside li")).to_have_count(1)
    yield "drawer-beside", PAGE
    page.set_viewport_size(window)


def found(page: Page) -> Iterator[tuple[str, str]]:
    """What is found in the open conversation, and by the list of everything; and the page of shortcuts."""
    inside = page.locator("agui-chat")
    inside.locator(".input").press("Control+f")
    inside.locator(".find input").fill("day")
    page.wait_for_function("() => CSS.highlights.get('agui-found-current')?.size === 1")
    yield "find", ".transcript"
    inside.locator(".find input").fill("nothing")
    expect(inside.locator(".find [aria-disabled=true]")).to_have_count(2)
    yield "find-nothing", ".find"
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    expect(inside.locator(".command").nth(3)).to_be_visible()
    yield "commands", ".commands"
    page.keyboard.insert_text("Good")
    expect(inside.locator(".commands .excerpt").first).to_be_visible()
    yield "commands-found", ".commands"
    page.route(re.compile(r"/agent/threads/\?"), lambda route: route.fulfill(status=500, json={}), times=1)
    page.keyboard.insert_text(LONG)
    expect(inside.locator(".commands .notice")).not_to_be_empty()
    yield "commands-failed", ".commands"
    page.keyboard.press("Escape")
    inside.locator(".log").press("?")
    expect(inside.locator(".shortcuts")).to_be_visible()
    yield "shortcuts", ".shortcuts"
    page.keyboard.press("Escape")


def printed_and_lost(page: Page) -> Iterator[tuple[str, str]]:
    """On paper; and without a network, with a message that waits behind the one that was lost."""
    expect(page.locator(".paper")).to_have_count(0)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator(".paper h1")).to_be_visible()
    yield "printed", PAGE
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    inside = page.locator("agui-chat")
    page.context.set_offline(True)
    for text in ("hello", "and then"):
        write(page, text)
        inside.locator(".input").press("Enter")
    expect(inside.locator(".failure")).to_be_visible()
    expect(inside.locator(".queued")).to_be_visible()
    yield "lost", PAGE


def in_modes(page: Page, modes: list[str]) -> Iterator[tuple[str, list[str] | None]]:
    """Show the page in each of the modes, with the rules that are worth a look in it."""
    window = page.viewport_size
    rules = {"light": None} | ({"dark": COLOURS} if "light" in modes else {})
    for mode in modes:
        media, viewport = MODES[mode]
        page.emulate_media(**({"color_scheme": "light", "forced_colors": "none"} | media))
        page.set_viewport_size(viewport or window)
        yield mode, rules.get(mode, VISUAL)
    page.set_viewport_size(window)


@pytest.fixture(params=["day", *at_night("night")])
def modes(request: pytest.FixtureRequest) -> list[str]:
    """In which modes a page is looked at: by day once in each theme."""
    return DAY if request.param == "day" else list(MODES)


@pytest.mark.parametrize("name", ["en", *at_night(*sorted(PAGES.keys() - {"en"}))])
def test_no_state_of_the_chat_has_a_finding(open_chat, look, site, name):
    options, modes = PAGES[name]
    page = open_chat(name[:2], ["openai:small", f"openai:{LONG}"], **options)
    states = [a_run(page), activities(page), sources(page), documents(page), questions(page), files(page), voice(page)]
    states += [stored(page, site.url), found(page), printed_and_lost(page)]
    for state, new in chain(*states):
        for mode, rules in in_modes(page, modes):
            seen = f"{state}-{mode}"
            look(page, seen, rules, within=new if name == "en" else PAGE)
            assert page.locator("agui-chat .log").evaluate("e => e.scrollWidth - e.clientWidth") <= 0, seen
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, seen


# --- What is where


def test_to_deny_looks_harmless_and_short_fields_share_a_line(open_chat):
    page = open_chat()
    gate = question("g", {"type": "object"}, reason="tool_call", toolCallId="d1", metadata={"x-destructive": True})
    ask(page, "Send it", *begun("d1", "send_message", {"to": "Alan"}))
    end(page, waiting(gate))
    asked = page.locator("agui-chat .question")
    red = "button => getComputedStyle(button).backgroundColor"
    approve, deny = asked.get_by_role("button", name="Approve"), asked.get_by_role("button", name="Deny")
    danger = approve.evaluate(red)
    assert deny.evaluate(red) != danger
    deny.click()
    expect(asked.get_by_label("Reason")).to_be_visible()
    expect(asked).to_contain_text("Alan")
    assert deny.evaluate(red) != danger
    # Where there is room, short fields share a line.
    new_chat(page)
    fields = {name: {"type": "integer"} for name in ("rows", "seats")} | {"notes": {"type": "string"}}
    ask(page, "Book")
    schema = {"type": "object", "required": [*fields], "properties": fields}
    end(page, waiting(question("q", schema)))
    rows, seats, notes = (page.get_by_label(name).bounding_box() for name in ("Rows", "Seats", "Notes"))
    assert rows["y"] == seats["y"] < notes["y"]
    assert rows["width"] < notes["width"] / 2 + 1
    page.set_viewport_size(PHONE)
    drawn(page)
    rows, seats = (page.get_by_label(name).bounding_box() for name in ("Rows", "Seats"))
    assert rows["y"] < seats["y"]


def test_phone_gives_what_is_written_the_whole_width_and_what_is_cut_fades_out(open_chat):
    page = open_chat(viewport=PHONE)
    write(page, "word " * 40)
    box, field = (page.locator(f"agui-chat {one}").bounding_box()["width"] for one in (".composer-box", ".input"))
    assert field > box - 24
    # Also for those who want no motion.
    ask(page, "hello", *begun_text(MARKDOWN))
    end(page)
    for part in (".code pre", ".table"):
        box = page.locator(f"agui-chat {part}")
        mask = "box => getComputedStyle(box).maskImage"
        assert "linear-gradient" in box.evaluate(mask), part
        box.evaluate("box => box.scrollTo(9999, 0)")
        drawn(page)
        assert box.evaluate(mask) == "none", part


# --- Placement

SHOP = """<!doctype html>
<html lang="en">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Shop</title>
<link rel="stylesheet" href="/static/assistant/page.css">
<script type="module" src="/static/agui/agui-chat.js"></script>
<main><h1>Shop</h1><p><button>Buy</button> %s</p></main>
<agui-chat endpoint="/agent/" data-threads-url="/agent/threads/" placement="%s" collapsed></agui-chat>
</html>
"""
ROOM = "body { padding-inline-end: var(--agui-docked-width, 0px) }"


@pytest.fixture
def guest(open_page: Callable[..., Page], site):
    """A page of a shop, with the chat as a guest."""

    def guest(placement: str, path: str = "shop", **options) -> Page:
        page = open_page(None, **options)
        body = SHOP % ("word " * 4000, placement)
        page.route("**/shop*", lambda route: route.fulfill(body=body, content_type="text/html"))
        page.goto(f"{site.url}/{path}")
        page.add_style_tag(content=ROOM)
        return page

    return guest


def launcher(page: Page):
    return page.get_by_role("button", name="Open the chat")


def test_guest_stays_open_or_closed_from_page_to_page_and_leaves_the_page_to_its_user(guest):
    page = guest("floating")
    expect(launcher(page)).to_be_visible()
    expect(message_box(page)).to_be_hidden()
    launcher(page).click()
    expect(message_box(page)).to_be_focused()
    page.goto(page.url + "?page=2")
    expect(message_box(page)).to_be_visible()
    assert page.evaluate("document.activeElement === document.body")
    expect(launcher(page)).to_be_hidden()
    message_box(page).press("Escape")
    expect(launcher(page)).to_be_focused()
    page.reload()
    expect(launcher(page)).to_be_visible()
    # Where there is room, the page can be used beside it.
    launcher(page).click()
    page.get_by_role("button", name="Buy").click()
    expect(page.get_by_role("button", name="Buy")).to_be_focused()
    page.mouse.wheel(0, 500)
    page.wait_for_function("() => scrollY > 0")
    expect(message_box(page)).to_be_visible()


def test_guest_on_a_phone_is_modal_and_covers_the_page(guest, look):
    page = guest("docked", viewport=PHONE, bypass_csp=True, reduced_motion="reduce")
    for placement in ("docked", "floating"):
        page.locator("agui-chat").evaluate("(chat, placement) => chat.setAttribute('placement', placement)", placement)
        page.evaluate("scrollTo(0, 0)")
        launcher(page).click()
        dialog = page.get_by_role("dialog", name="Assistant")
        expect(dialog).to_be_visible()
        assert dialog.bounding_box() == {"x": 0, "y": 0, **PHONE}
        focus_outside = "document.querySelector('main button').focus() ?? document.activeElement.localName"
        assert page.evaluate(focus_outside) != "button"
        for _ in range(12):
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.localName") in ("agui-chat", "body")
        page.mouse.move(200, 300)
        page.mouse.wheel(0, 500)
        drawn(page)
        assert page.evaluate("scrollY") == 0
        for mode, rules in in_modes(page, ["light", "forced-colors"]):
            look(page, f"{placement}-phone-{mode}", rules)
        page.keyboard.press("Escape")
        expect(launcher(page)).to_be_visible()
        page.mouse.wheel(0, 500)
        page.wait_for_function("() => scrollY > 0")


def test_docked_chat_is_resized_and_becomes_a_sheet_in_a_narrow_window(guest, look):
    page = guest("docked", bypass_csp=True, reduced_motion="reduce")
    launcher(page).click()
    message_box(page).fill("half a sen")
    page.set_viewport_size(PHONE)
    expect(page.locator("agui-chat .frame")).to_have_js_property("offsetWidth", PHONE["width"])
    expect(message_box(page)).to_be_focused()
    expect(message_box(page)).to_have_value("half a sen")
    page.set_viewport_size({"width": 1200, "height": 800})
    expect(page.locator("agui-chat .frame")).to_have_js_property("offsetWidth", 416)
    expect(page.get_by_role("button", name="Buy")).to_be_visible()
    # The user makes it wider or narrower, and the page makes room.
    frame, edge = page.locator("agui-chat .frame"), page.get_by_role("separator", name="Width of the chat")

    def has_room(width: int) -> None:
        taken = "1200 - document.querySelector('main').getBoundingClientRect().width"
        page.wait_for_function(f"width => Math.abs({taken} - width) <= 20", arg=width)

    for direction, wider in (("ltr", "ArrowLeft"), ("rtl", "ArrowRight")):
        page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
        page.reload()
        page.add_style_tag(content=ROOM)
        page.evaluate(f"document.documentElement.dir = '{direction}'")
        launcher(page).click()
        expect(frame).to_have_js_property("offsetWidth", 416)
        expect(edge).to_have_attribute("aria-valuenow", "416")
        has_room(416)
        edge.press(wider)
        expect(edge).to_have_attribute("aria-valuenow", "440")
        has_room(440)
        box = edge.bounding_box()
        page.mouse.move(box["x"] + 2, 400)
        page.mouse.down()
        page.mouse.move(700 if direction == "ltr" else 500, 400, steps=3)
        page.mouse.up()
        expect(edge).to_have_attribute("aria-valuenow", re.compile("^(49|50)"))
        look(page, f"docked-{direction}", VISUAL)
        page.goto(page.url + "?page=2")
        expect(edge).to_have_attribute("aria-valuenow", re.compile("^(49.|50.|510)$"))
        edge.press("Home")
        expect(edge).to_have_attribute("aria-valuenow", "280")
        edge.press("Enter")
        expect(launcher(page)).to_be_focused()
        assert page.evaluate("document.documentElement.style.getPropertyValue('--agui-docked-width')") == "0px"


def test_news_are_told_on_the_launcher(guest, look):
    page = guest("floating", bypass_csp=True, reduced_motion="reduce")
    launcher(page).click()
    look(page, "floating-open")
    page.evaluate(f"() => {{ {AGENT} }}")
    ask(page, "hello")
    page.get_by_role("button", name="Close").click()
    answer(page, *begun_text("Good day."), FINISHED)
    news = page.get_by_role("button", name="there is a new answer")
    expect(news).to_be_visible()
    look(page, "floating-closed")
    news.click()
    message_box(page).press("Escape")
    expect(news).to_have_count(0)


def test_everything_fits_at_400_percent(open_chat, look):
    page = open_chat(viewport={"width": 320, "height": 256})
    expect(page.get_by_role("heading", name="What can I do")).to_be_in_viewport(ratio=1)
    for name in ("empty", "answered"):
        expect(message_box(page)).to_be_in_viewport(ratio=1)
        expect(page.get_by_role("button", name="New chat")).to_be_in_viewport(ratio=1)
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        look(page, name, VISUAL)
        if name == "empty":
            ask(page, "hello", *begun_text(MARKDOWN))
            end(page)
            expect(page.locator(".prose math")).to_have_count(2)


# What a page may set for all of its elements.
OUTER = """* {
    color: red; font: italic 30px/3 serif; hyphens: auto; letter-spacing: 5px; text-align: right; text-indent: 9px;
    text-shadow: 1px 1px red; text-transform: uppercase; white-space: pre; word-break: break-all; word-spacing: 9px;
}"""
LOOKS = """chat => [...chat.shadowRoot.querySelectorAll(".input, .prose p, .bubble, .header, .button, .actions, h2")]
    .map((element) => [element.className, getComputedStyle(element)]).map(([name, style]) => [name, ...`color font
        hyphens letterSpacing textAlign textIndent textShadow textTransform whiteSpace wordBreak wordSpacing`
        .split(/\\s+/).map((key) => style[key])])"""


def test_rules_of_the_page_for_all_elements_stay_outside(open_chat):
    page = open_chat()
    ask(page, "hello", *begun_text("Words and **more**"))
    end(page)
    chat = page.locator("agui-chat")
    before = chat.evaluate(LOOKS)
    assert len(before) > 5
    page.add_style_tag(content=OUTER)
    assert chat.evaluate("chat => getComputedStyle(chat).letterSpacing") == "5px"
    assert chat.evaluate(LOOKS) == before


# What a screen reader has of a conversation: who speaks is a heading.
OUTLINE = """
- log "Conversation":
  - heading "You" [level=2]
  - text: hello
  - toolbar "Actions for your message":
    - button "Edit the message"
  - heading "Assistant" [level=2]
  - group: /List tasks/
  - heading "Result"
  - paragraph: Two words.
  - heading "Details"
  - toolbar "This answer"
  - heading "You" [level=2]
  - text: again
  - toolbar "Actions for your message"
  - heading "Assistant" [level=2]
  - paragraph: Done.
"""
HEADINGS = {"My Assistant": 1, "You": 2, "Assistant": 2, "Result": 3, "Details": 3}


def test_a_conversation_has_headings_for_a_screen_reader(open_chat):
    page = open_chat()
    called = [*begun("c1", "list tasks"), ended("c1", "none")]
    ask(page, "hello", *called, *begun_text("# Result\n\nTwo words.\n\n## Details", "m1"))
    end(page)
    ask(page, "again", *begun_text("Done.", "m2"))
    end(page)
    expect(page.locator("agui-chat .log")).to_match_aria_snapshot(OUTLINE)
    # Playwright reads the level of an <h1> from its name, browsers from `aria-level`.
    nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    found = {
        node["name"]["value"]: {one["name"]: one["value"].get("value") for one in node["properties"]}["level"]
        for node in nodes
        if node.get("role", {}).get("value") == "heading"
    }
    assert found == HEADINGS
    expect(page.get_by_role("textbox", name="Your message")).to_have_count(1)
    expect(page.get_by_label("Your message", exact=True)).to_have_count(1)


def test_pages_around_the_chat_have_no_finding(open_page, new_page, site, look, modes):
    admin = open_page("/admin/users/user/", bypass_csp=True)
    admin.get_by_role("button", name="Open the chat").click()
    expect(message_box(admin)).to_be_visible()
    for mode, rules in in_modes(admin, modes):
        look(admin, f"admin-{mode}", rules, within="agui-chat")  # Django's own page is not ours to judge.
    login = new_page(site.url, bypass_csp=True)
    login.get_by_label("Username").fill("nobody")
    login.get_by_label("Password").fill("wrong")
    login.get_by_role("button", name="Sign in").click()
    expect(login.get_by_role("alert")).to_be_visible()
    for mode, rules in in_modes(login, modes):
        look(login, f"login-{mode}", rules)


# --- Paper


def test_print_has_the_whole_conversation_and_nothing_to_press(open_page, site):
    page = open_page(None)
    with page.expect_response("**/page/print*.js"):
        page.goto(site.url)
    open_thread(page, 200)
    expect(page.locator(".message")).to_have_count(20)
    assert len(re.findall(rb"/Type /Page\b", page.pdf())) > 8
    expect(page.locator(".message")).to_have_count(20)  # as before
    text = "[here](https://example.com/a) and <https://example.com/b>\n\n```js\n" + "word " * 90 + "\n```\n"
    for words in ("much to do " * 20, "x" * 80, "x" * 200):
        text += "\n| What | Day |\n|---|---|\n" + f"| {words} | Wednesday |\n" * 10
    show_answer(page, text)
    code = page.locator(".code pre").last
    expect(code).to_be_visible()
    links = page.locator(".prose").last.locator("a")
    expect(links.last).to_have_attribute("href", "https://example.com/b")  # Drawn again by the parser of such links
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator(".message")).to_have_count(202)
    assert page.locator("agui-chat button:not(.sort)").filter(visible=True).count() == 0
    for part in (".composer", ".header"):
        expect(page.locator(part).first).to_be_hidden()
    expect(page.locator(".paper h1")).to_be_visible()
    expect(page.locator(".paper p")).to_have_text(re.compile(r"\b20\d\d\b"))
    after = "link => getComputedStyle(link, '::after').content"
    assert "https://example.com/a" in links.first.evaluate(after)
    assert links.last.evaluate(after) == "none"
    assert code.evaluate("pre => pre.scrollWidth <= pre.clientWidth")
    # Letters become smaller in a table that is wider than the paper; only then are words broken.
    tables = page.locator(".prose").last.locator("table")
    sizes = tables.evaluate_all("all => all.map((table) => parseFloat(getComputedStyle(table).fontSize))")
    assert sizes[0] > sizes[1] > sizes[2]
    layouts = tables.evaluate_all("all => all.map((table) => getComputedStyle(table).tableLayout)")
    assert layouts == ["auto", "auto", "fixed"]
    # What can't be repeated at the top of each page would leave a band there.
    expect(tables.last.locator(".sort").first).to_have_css("display", "contents")
    assert page.locator(".prose").last.evaluate("e => getComputedStyle(e).color") == "rgb(0, 0, 0)"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(page.locator(".paper")).to_have_count(0)
