"""What tools do, ask and show, in a real Chromium: what is drawn, where it stands, and what the server keeps of it.

Cards, plans, tables and forms themselves are in tests/element/cards.test.mjs and questions.test.mjs.
"""

import json
import re
from itertools import chain

import pytest
from conftest import MANUAL
from daily import at_night
from page_events import (
    BOOKING,
    FINISHED,
    STARTED,
    answer_with,
    approval,
    asking,
    begun,
    changed,
    chunk,
    question,
    shown,
    waiting,
)
from pages import Page, drawn, expect, finished, message_box, new_chat, open_stream, say, speak, stored_texts

pytestmark = pytest.mark.browser

# --- Approvals: what they ask and send is in tests/element/questions.test.mjs


def test_message_instead_of_an_answer_denies_what_is_open_and_says_so_before(scripted):
    say(scripted, "delete twice")
    expect(scripted.get_by_role("button", name="Deny", exact=True)).to_have_count(2)
    # What is destructive is never approved with others.
    bar = scripted.get_by_role("group", name="Open questions")
    expect(bar.get_by_role("button")).to_have_text(["Next", "Deny all"])
    effect = scripted.get_by_text("Sending this denies the 2 open questions, with your message as the reason.")
    expect(effect).to_be_hidden()
    box = message_box(scripted)
    box.fill("Keep them, please")
    expect(effect).to_be_visible()
    expect(box).to_have_accessible_description(re.compile("^Sending this denies the 2 open questions"))
    box.press("Enter")
    finished(scripted)
    expect(effect).to_have_count(0)
    expect(box).to_have_accessible_description("")
    for _ in range(2):
        expect(scripted.locator(".tool[data-status=denied]:visible")).to_have_count(2)
        expect(scripted.locator(".user .bubble")).to_have_text(["delete twice", "Keep them, please"])
        expect(scripted.locator(".assistant .prose:visible").last).to_contain_text("end.")
        scripted.reload()
    assert stored_texts(scripted, "user") == ["delete twice", "Keep them, please"]
    assert stored_texts(scripted, "tool") == ["Keep them, please"] * 2
    # A form is only skipped.
    say(scripted, "a trip")
    box.fill("No trip")
    expect(scripted.get_by_text("Sending this skips the open question.")).to_be_visible()


ADDRESS = {"name": "Ada", "street": "12 St James's Square", "city": "London", "postcode": "SW1Y 4JH", "country": "GB"}
ORDER = {
    "lines": [{"sku": f"A-{n}", "title": f"Chair {n}", "quantity": n + 1, "price": 9.5} for n in range(12)],
    "customer": {"name": "Ada", "billing": ADDRESS},
    "to": [f"p{n}@example.com" for n in range(40)],
    "copies": 12345678901234567890,
}


# From the first look on, each frame records which lines of the cards are in sight. A look returns what could be
# approved without them, and then presses the first button that approves, and returns whether that has approved them.
LOOK = """(chat, presses) => {
    const root = chat.shadowRoot, wrong = [], lines = (window.linesInSight ??= new WeakMap());
    const place = (element) => element.getBoundingClientRect();
    const isHit = (element, { left, right, top, bottom }) =>
        element.contains(root.elementFromPoint((left + right) / 2, (top + bottom) / 2));
    const texts = ".question-text, .arguments dt, .arguments dd, .items p, .field > label, .field .entry, legend";
    const unseen = (card) => [...card.querySelectorAll(texts)].filter((row) => {
        if (row.querySelector("dd, p, label, .entry")) return false;
        const range = document.createRange(), seen = lines.get(row) ?? new Set();
        range.selectNodeContents(row);
        const all = [...(row.matches(".entry") ? row : range).getClientRects()].filter((line) => line.height > 1);
        all.forEach((line, number) => isHit(row, line) && seen.add(number));
        lines.set(row, seen);
        return seen.size < all.length;
    });
    const look = () => [...root.querySelectorAll(".question:not([data-decided])")].map((card) => [card, unseen(card)]);
    const again = () => look() && requestAnimationFrame(again) && setTimeout(look);
    if (!window.looks) again();
    window.looks = true;
    const cards = look();
    const top = place(root.querySelector(".log")).top;
    const isOpen = (button) => button?.checkVisibility() && !button.ariaDisabled && isHit(button, place(button));
    for (const [card, [row]] of cards) {
        const button = card.querySelector(".question-buttons > :is(.primary, .danger)");
        if (isOpen(button) && row) wrong.push(`${button.textContent} before ${row.textContent}`);
        const text = card.querySelector(".question-view > .arguments");
        if (text && place(card).top >= top && place(button).top < place(text).bottom) wrong.push("on the text");
    }
    const [, [left] = []] = cards.find(([, rows]) => rows.length) ?? [];
    const all = root.querySelector(".open-bar .primary");
    if (left && isOpen(all)) wrong.push(`all before ${left.textContent}`);
    for (const button of root.querySelectorAll(".button")) {
        if (button.scrollWidth > button.clientWidth) wrong.push(`${button.textContent} runs out of its button`);
    }
    if (!presses || !cards.length) return wrong;
    (all?.checkVisibility() ? all : cards[0][0].querySelector(".question-buttons > :is(.primary, .danger)")).click();
    const isLeft = cards.every(([card]) => card.isConnected && !card.matches("[data-decided]"));
    if (left && !isLeft) wrong.push(`approved before ${left.textContent}`);
    return wrong;
}"""
SIZES = [(320, 256), (380, 700), (768, 1024), (1280, 720)]
OFFER = {"title": "Offer 114 for the town hall", "recipient": "procurement@example.org", "amount": 12500}
LONG = OFFER | {"lines": ORDER["lines"], "text": "Words that follow. " * 60}


def offers(given: dict, *names: str, **more: object) -> list[dict]:
    metadata = {"toolName": "publish", "arguments": json.dumps(given)} | more
    asked = [approval(name, metadata=metadata) for name in names]
    return [*chain.from_iterable(begun(one["toolCallId"], "publish", given) for one in asked), waiting(*asked)]


ASKED = [
    offers(OFFER, "it"),
    offers(OFFER, "a", "b", "c"),
    offers(LONG, "it"),
    [waiting(question("q", BOOKING | {"required": []}))],
    [chunk("I shall publish it. " * 30), *offers(OFFER, "it", **{"x-destructive": True})],
]


@pytest.mark.parametrize("language", ["de", *at_night("en", "fr", "es", "ar", "ja")])
def test_what_is_approved_has_been_in_sight_in_every_window(open_page, site, language: str):
    page = open_page(None, reduced_motion="reduce")
    speak(page, site.url, language)
    page.goto(site.url)
    chat, log = page.locator("agui-chat"), page.locator(".log")
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        for asked in ASKED:
            page.locator(".header .icon-compose").click()
            expect(page.locator(".messages > *")).to_have_count(0)
            sent = answer_with(page, [STARTED, *asked], [STARTED, FINISHED])
            page.locator(".input").fill("hello")
            page.wait_for_function("() => !document.querySelector('agui-chat').session.loading")
            chat.evaluate(LOOK)
            page.locator(".input").press("Enter")
            expect(page.locator(".question-buttons").last).to_be_attached()
            drawn(page)
            where = (language, width, asked[-1])
            assert chat.evaluate(LOOK) == [], where
            # Nobody approves what was passed over at once.
            log.evaluate("log => (log.scrollTop = log.scrollHeight)")
            drawn(page)
            assert chat.evaluate(LOOK) == [], where
            # A press shows what is left, and decides once there is nothing.
            for _ in range(100):
                if len(sent) == 2:
                    break
                assert chat.evaluate(LOOK, True) == [], where
                drawn(page)
            assert len(sent) == 2, where
            expect(page.locator(".send .icon-send")).to_be_visible()
            page.unroute("**/agent/")


def test_buttons_of_a_long_question_stay_in_sight(chat):
    chat.set_viewport_size({"width": 380, "height": 700})
    one = approval("it", metadata={"toolName": "order", "arguments": json.dumps(ORDER)})
    answer_with(chat, [STARTED, *begun("call-it", "order", ORDER), waiting(one)])
    say(chat, "hello")
    asked, log = chat.get_by_role("group", name="Publish it?"), chat.locator(".log")
    expect(asked).to_contain_text("12345678901234567890")
    # They cover nothing while the card begins in the window.
    expect(asked.get_by_role("button", name="Approve", exact=True)).not_to_be_in_viewport()
    for place in (0.4, 1):
        log.evaluate("(log, place) => (log.scrollTop = place * log.scrollHeight)", place)
        for name in ("Approve", "Edit", "Deny"):
            expect(asked.get_by_role("button", name=name, exact=True)).to_be_in_viewport(ratio=1)
        assert log.evaluate("log => log.scrollWidth - log.clientWidth") <= 0
    expect(chat.get_by_role("button", name="Go to the latest message")).to_be_hidden()
    # A user who comes back to the question sees what it is. A press into the arguments scrolls nothing.
    asked.get_by_role("button", name="Deny").click()
    expect(asked.get_by_label("Reason")).to_be_in_viewport(ratio=1)
    log.evaluate("log => (log.scrollTop = log.scrollHeight)")
    expect(asked.locator(".question-text")).not_to_be_in_viewport()
    chat.keyboard.press("Escape")
    expect(asked.locator(".question-text")).to_be_in_viewport(ratio=1)
    message_box(chat).focus()
    log.evaluate("log => (log.scrollTop = 0.4 * log.scrollHeight)")
    asked.locator(".items > li > p").nth(4).click()
    expect(asked).to_be_focused()
    expect(asked.locator(".question-text")).not_to_be_in_viewport()
    # The style of values changes nothing else: the list of conversations stands beside the log, which fills its place.
    chat.set_viewport_size({"width": 1280, "height": 700})
    chat.get_by_role("button", name="Conversations").first.click()
    expect(chat.locator(".drawer.beside")).to_be_visible()
    assert log.evaluate("log => log.parentElement.offsetWidth - log.offsetWidth") == 0


def test_an_app_is_allowed_nothing_whose_text_was_not_in_sight(chat):
    """The question itself, without an app: what apps do is in test_browser_apps.py."""
    for width, height in SIZES:
        chat.set_viewport_size({"width": width, "height": height})
        chat.evaluate("""async () => {
            const { AppQuestion } = await import("/static/agui_views/app-question.js");
            const log = document.querySelector("agui-chat").shadowRoot.querySelector(".log > .column");
            const question = new AppQuestion();
            window.allowed = undefined;
            question.element.style.marginBlock = "100vh";
            log.append(question.element);
            const words = { text: "It asks:", yes: "Allow", no: "No", readFirst: "Read" };
            question.ask({ detail: "A line.\\n".repeat(80), ...words }).then((allowed) => (window.allowed = allowed));
        }""")
        asked, allow = chat.locator(".app-asks").last, chat.get_by_role("button", name="Allow", exact=True).last
        expect(asked.get_by_text("Read", exact=True)).to_be_visible()
        # Its end was reached where nobody sees it.
        chat.locator(".log").evaluate("log => (log.scrollTop = 0)")
        asked.locator("pre").evaluate("pre => { pre.style.overflow = 'auto'; pre.scrollTop = pre.scrollHeight; }")
        drawn(chat)
        expect(allow).to_be_disabled()
        asked.locator("p").first.scroll_into_view_if_needed()
        asked.locator("pre").evaluate("pre => { pre.scrollTop = 0; pre.scrollIntoView({ block: 'start' }); }")
        drawn(chat)
        expect(allow).to_be_disabled()
        asked.locator("pre").evaluate("pre => { pre.scrollTop = 1e6; pre.scrollIntoView({ block: 'end' }); }")
        expect(allow).to_be_enabled()
        allow.press("Enter")
        chat.wait_for_function("() => window.allowed === true")


# --- Activities


CHART = {
    "title": "Tasks",
    "type": "bar",
    "labels": ["home", "work", "<i>"],
    "series": [{"name": "Open", "values": [1, -2.5, None]}, {"name": "Done", "values": [3, 4, 1e9]}],
    "unit": "h",
}


def test_charts_are_pictures_with_their_numbers_beneath_and_change_in_their_place(chat):
    push = open_stream(chat)
    push(shown("table", {"title": "Trains", "columns": ["train", "price"], "rows": [["b", 9], ["a", 10]]}, "t"))
    heads = chat.get_by_role("region", name="Trains").get_by_role("columnheader")
    expect(heads).to_have_count(2)
    assert [head.evaluate("head => getComputedStyle(head).textAlign") for head in heads.all()] == ["start", "end"]
    push(shown("chart", CHART))
    picture = chat.get_by_role("img", name="Tasks")
    expect(picture).to_have_accessible_description("Bar chart. Open, Done. 3 values, from -2.5 to 1,000,000,000 h")
    # Patterns are for where colours alone don't tell.
    hatch = "chart => getComputedStyle(chart.querySelector('.hatch')).stroke"
    assert picture.evaluate(hatch) == "none"
    for needed in ({"media": "print"}, {"contrast": "more"}, {"forced_colors": "active"}):
        chat.emulate_media(**needed)
        assert picture.evaluate(hatch) != "none"
        chat.emulate_media(**dict.fromkeys(needed, "null"))
    plot = chat.get_by_role("group", name="Tasks")
    plot.press("ArrowRight")
    plot.press("End")
    plot.press("ArrowLeft")
    expect(chat.locator(".readout")).to_have_text("work: Open -2.5 h · Done 4 h")
    chart = chat.locator(".activity").last
    chart.locator("summary", has_text="Data").click()
    rows = chart.get_by_role("row")
    expect(rows).to_have_text([re.compile("Label"), "home13", "work-2.54", "<i>1000000000"])
    expect(chat.get_by_role("rowheader", name="work")).to_be_visible()
    plot.focus()
    push(changed("chart", "/series/0/values/1", 7))
    expect(rows.nth(2)).to_have_text("work74")
    expect(plot).to_be_focused()
    push(changed("chart", "/type", "line"))
    expect(picture).to_have_accessible_description(re.compile("^Line chart"))


def log_gap(page: Page) -> int:
    """How many pixels the log is away from its end, once all is drawn."""
    drawn(page)
    drawn(page)
    return page.locator(".log").evaluate("log => log.scrollHeight - log.scrollTop - log.clientHeight")


def test_log_follows_to_the_end_past_charts_and_tables(chat):
    # An open question is in sight although charts are drawn before it.
    charts = [shown("chart", CHART, f"a{n}") for n in range(3)]
    started, *rest = asking(approval("it"))
    answer_with(chat, [started, *charts, *rest])
    say(chat, "hello")
    expect(chat.locator(".plot > svg")).to_have_count(3)
    expect(chat.get_by_role("button", name="Approve", exact=True)).to_be_in_viewport()
    assert log_gap(chat) < 2
    new_chat(chat)
    push = open_stream(chat)
    jump = chat.get_by_role("button", name="Go to the latest message")
    table = {"title": "Rows", "columns": ["a"], "rows": [[n] for n in range(30)]}
    for number in range(3):
        push(shown("chart", CHART, f"chart{number}"))
        expect(chat.locator(".plot > svg")).to_have_count(number + 1)
        assert log_gap(chat) < 2
        push(shown("table", table, f"table{number}"))
        expect(chat.locator(".activity .data-table")).to_have_count(number + 1)
        assert log_gap(chat) < 2
    expect(jump).to_be_hidden()
    chat.locator(".log").evaluate("log => log.scrollBy(0, -200)")
    expect(jump).to_be_visible()
    push(shown("chart", CHART, "last"))
    expect(chat.locator(".plot > svg")).to_have_count(4)
    assert log_gap(chat) > 200


ODD = [
    *([], [0], [7], [None], [None, None], [-1, -2], [3, 3, 3], [1e300, -1e300], [5e-324, 1e-323], [0.1, None, 0.2]),
    [n * (-1) ** n for n in range(5000)],
]


def test_odd_numbers_are_drawn(chat):
    charts = [
        {"type": kind, "labels": [str(n) for n in range(len(values))], "series": [{"values": values}]}
        for kind in ("bar", "stacked", "line", "area", "pie", "donut")
        for values in ODD
    ]
    answer_with(chat, [STARTED, *(shown("chart", one, f"a{n}") for n, one in enumerate(charts)), FINISHED])
    say(chat, "hello")
    pictures = chat.locator(".plot > svg")
    expect(pictures).to_have_count(len(charts))
    expect(chat.locator(".plot text", has_text="No data")).to_have_count(3 * 6)
    html = "".join(pictures.evaluate_all("all => all.map(one => one.outerHTML)"))
    assert not re.search(r"NaN|Infinity|undefined|\de[+-]?\d", html)


def test_parts_draw_and_one_that_can_not_be_loaded_is_like_none(chat):
    modules = json.loads(chat.locator("agui-chat").get_attribute("data-modules"))
    set_modules = "(chat, modules) => { chat.dataset.modules = modules; }"
    run = [STARTED, shown("chart", CHART), chunk("So $x^2$."), FINISHED]
    answer_with(chat, run)
    # A module that can't be loaded is like one that is not there.
    missing = modules | {"activity:chart": "/static/agui_charts/no.js"}
    chat.locator("agui-chat").evaluate(set_modules, json.dumps(missing))
    say(chat, "hello")
    expect(chat.locator(".prose math")).to_be_attached()
    expect(chat.locator(".activity > details > summary")).to_have_text("chart")
    # The module of the manual, beside the others.
    manual = (MANUAL / "parts.md").read_text()
    [code] = re.findall(r"^```js\n// weather/static/(weather/weather\.js)\n(.*?)^```$", manual, re.M | re.S)
    chat.route("**/static/weather/*", lambda route: route.fulfill(body=code[1], content_type="text/javascript"))
    chat.locator("agui-chat").evaluate(set_modules, json.dumps(modules | {"activity:weather": f"/static/{code[0]}"}))
    new_chat(chat)
    push = open_stream(chat)
    push(shown("weather", {"city": "Rome", "degrees": 21.5}), shown("chart", CHART, "b"))
    weather = chat.locator(".activity").first
    expect(weather).to_have_text("Rome: 21.5°")
    expect(chat.locator(".plot > svg")).to_be_visible()
    push(changed("weather", "/city", "<b>Oslo</b>"))
    expect(weather).to_have_text("<b>Oslo</b>: 21.5°")
    push(changed("weather", "/degrees", op="remove"), FINISHED)
    expect(weather.locator("details > summary")).to_have_text("weather")
