"""What tools do, ask and show, in a real Chromium: what is drawn, where it stands, and what the server keeps of it.

Cards, plans, tables and forms themselves are in tests/element/cards.test.mjs and questions.test.mjs.
"""

import json
import re

import pytest
from conftest import MANUAL
from page_events import FINISHED, STARTED, answer_with, approval, asking, begun, changed, chunk, shown, waiting
from pages import Page, drawn, expect, finished, message_box, new_chat, open_stream, say, stored_texts

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
    with scripted.expect_request(lambda request: request.url.endswith("/agent/")) as posted:
        box.press("Enter")
    body = posted.value.post_data_json
    assert [entry["payload"] for entry in body["resume"]] == [{"approved": False, "reason": "Keep them, please"}] * 2
    assert [message["content"] for message in body["messages"]] == ["Keep them, please"]
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


def test_buttons_of_a_long_question_stay_in_sight(chat):
    chat.set_viewport_size({"width": 380, "height": 700})
    one = approval("it", metadata={"toolName": "order", "arguments": json.dumps(ORDER)})
    answer_with(chat, [STARTED, *begun("call-it", "order", ORDER), waiting(one)])
    say(chat, "hello")
    asked, log = chat.get_by_role("group", name="Publish it?"), chat.locator(".log")
    expect(asked).to_contain_text("12345678901234567890")
    for place in (0, 0.4, 1):
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
    folded = asked.locator("details.fold")
    expect(folded.get_by_text("postcode")).to_be_hidden()
    folded.locator("summary").press("Enter")
    expect(folded.get_by_text("postcode")).to_be_visible()
    # The style of values changes nothing else: the list of conversations stands beside the log, which fills its place.
    chat.set_viewport_size({"width": 1280, "height": 700})
    chat.get_by_role("button", name="Conversations").first.click()
    expect(chat.locator(".drawer.beside")).to_be_visible()
    assert log.evaluate("log => log.parentElement.offsetWidth - log.offsetWidth") == 0


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
