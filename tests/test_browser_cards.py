"""What tools do, ask and show, in a real Chromium: cards, approvals, forms, plans, tables and charts."""

import json
import re

import pytest
from conftest import MANUAL
from page_events import (
    FINISHED,
    STARTED,
    answer_with,
    approval,
    asking,
    begun,
    changed,
    chunk,
    custom,
    ended,
    question,
    shown,
    text,
    waiting,
)
from pages import (
    Page,
    Route,
    asked,
    drawn,
    expect,
    finished,
    lasting,
    message_box,
    new_chat,
    open_stream,
    say,
    stored_texts,
)

pytestmark = pytest.mark.browser

ROWS = [{"id": 10, "title": "Milk"}, {"id": 9, "title": "<b>Bread</b>"}]


def cards(page: Page):
    return page.locator(".tool:visible")


# --- Tool calls


ADD = {"at": "2026-11-27T10:00", "number": 3, "title": "Buy milk\nand bread", "category": "home"}


def test_calls_fold_and_their_results_read_well_and_are_copied(chat):
    # An agent that calls one after the other, and at last two at once.
    calls = [event for n in range(6) for event in [*begun(f"c{n}", parent=f"p{n}"), ended(f"c{n}", duration_ms=n)]]
    failed = [*begun("f", "add_task", parent="p6"), *begun("g", parent="p6")]
    results = [ended("f", "No such list.", outcome="failed", duration_ms=65_400), ended("g")]
    answer_with(chat, [STARTED, *calls, *failed, *results, chunk("That is all."), FINISHED])
    say(chat, "hello")
    expect(chat.get_by_role("button", name="8 tools used")).to_have_attribute("aria-expanded", "false")
    expect(cards(chat)).to_have_count(1)
    expect(cards(chat)).to_contain_text("Failed · 1m 5s")
    chat.get_by_role("button", name="8 tools used").click()
    expect(cards(chat)).to_have_count(8)
    expect(cards(chat).nth(3).locator("summary")).to_have_text(re.compile(r"Done$"))
    # Results read well, and long ones are shown whole when asked for.
    new_chat(chat)
    chat.context.grant_permissions(["clipboard-read", "clipboard-write"])
    long = "word " * 2000
    both = [*begun("a"), *begun("b", "add_task", ADD), ended("b", long), ended("a", ROWS)]
    answer_with(chat, [STARTED, *both, FINISHED])
    say(chat, "hello")
    expect(cards(chat)).to_have_text([re.compile("Summarize tasks"), re.compile("Add task")])
    expect(cards(chat).locator(".tool-about")).to_have_text(["", "Buy milk and bread"])
    expect(chat.locator(".message.assistant")).to_have_count(1)
    first, second = cards(chat).first, cards(chat).last
    first.locator("summary").click()
    expect(first.get_by_role("cell", name="<b>Bread</b>")).to_be_visible()
    first.get_by_role("button", name="Id").click()
    expect(first.locator("tbody td:first-child")).to_have_text(["9", "10"])
    lasting(chat)
    first.get_by_role("button", name="Copy").click()
    expect(first.get_by_role("button", name="Copied")).to_be_visible()
    assert json.loads(chat.evaluate("navigator.clipboard.readText()")) == ROWS
    second.locator("summary").click()
    more = second.get_by_role("button", name="Show all 10,000 characters")
    expect(more).to_be_visible()
    assert len(second.locator("pre").inner_text()) < 3000
    more.click()
    expect(second.locator("pre")).to_have_js_property("innerText", long)
    expect(second.locator("pre")).to_be_focused()
    # Rows that make no table are shown as they are.
    new_chat(chat)
    empty, wide = [{}], [{f"column{n}": n} for n in range(70)]
    answer_with(chat, [STARTED, *begun("a"), *begun("b"), ended("a", empty), ended("b", wide), FINISHED])
    say(chat, "hello")
    for card, rows in ((cards(chat).first, empty), (cards(chat).last, wide)):
        card.locator("summary").click()
        expect(card.locator("pre").last).to_have_text(json.dumps(rows, indent=2))
    # On a page that is not served securely there is no clipboard.
    new_chat(chat)
    answer_with(chat, [STARTED, *begun("a"), ended("a", ROWS), *text("```sh\nmake run\n```"), FINISHED])
    say(chat, "hello")
    card, code = cards(chat).first, chat.locator(".code")
    card.locator("summary").click()
    for place, words in ((code, "make run"), (card, json.dumps(ROWS))):
        chat.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true })")
        place.get_by_role("button", name="Copy").click()
        expect(place.get_by_role("button", name="Copied")).to_be_visible()
        chat.evaluate("delete navigator.clipboard")
        given = chat.evaluate("navigator.clipboard.readText()")
        assert given == words or json.loads(given) == json.loads(words)
    expect(chat.locator("textarea.visually-hidden")).to_have_count(0)


def test_card_of_a_tool_with_a_secret_does_not_say_what_its_calls_are_about(chat):
    def answer(route: Route) -> None:
        tools = route.fetch().json()
        for tool in tools:
            tool |= {"secrets": [["title"]]} if tool["name"] == "add_task" else {}
        route.fulfill(json=tools)

    chat.route("**/agent/tools/", answer)
    chat.reload()
    focused = begun("a", "focus_on", {"category": "home"})
    answer_with(chat, [STARTED, *focused, ended("a"), *begun("b", "add_task", ADD), ended("b"), FINISHED])
    say(chat, "hello")
    # The first one shows that the labels of the server are there.
    expect(cards(chat).locator(".tool-about")).to_have_text(["home", ""])


def test_running_tool_tells_its_step_and_progress_and_a_step_of_the_run_is_shown_below(chat):
    push = open_stream(chat)
    push(*begun("c"), *begun("d"))
    card, of_call = cards(chat).first, {"metadata": {"toolCallId": "c"}}
    expect(card).to_contain_text("Running")
    push({"type": "STEP_STARTED", "stepName": "Search"} | of_call)
    push(custom("progress", {"percent": 40}) | of_call)
    expect(card.get_by_role("progressbar", name="Summarize tasks")).to_have_js_property("value", 40)
    expect(card).to_contain_text(re.compile(r"Search · 40% · \d+[ms]"))
    expect(cards(chat).last).not_to_contain_text("40")
    expect(chat.locator(".working")).not_to_contain_text("Search")  # the card says it
    for odd in ({"percent": "<i>"}, None, {"percent": 1e9}):
        push(custom("progress", odd) | of_call)
    expect(card).to_contain_text("100%")
    push({"type": "STEP_FINISHED", "stepName": "Search"} | of_call, ended("c", duration_ms=4200), ended("d"), FINISHED)
    expect(card).to_contain_text("Done · 4.2s")
    expect(card.get_by_role("progressbar")).to_be_hidden()
    new_chat(chat)
    push = open_stream(chat)
    push({"type": "STEP_STARTED", "stepName": "Read the archive"})
    expect(chat.locator(".working")).to_have_text("Read the archive")
    # Message toolbars have a status of their own.
    expect(chat.get_by_role("status").filter(has_text="Read the archive")).to_have_count(1)
    push({"type": "STEP_STARTED", "stepName": "Search"}, chunk("Some text."))
    expect(chat.locator(".working")).to_have_text("Search")
    expect(chat.locator(".working")).to_be_visible()
    push({"type": "STEP_FINISHED", "stepName": "Search"})
    expect(chat.locator(".working")).to_have_text("Read the archive")
    push({"type": "STEP_FINISHED", "stepName": "Read the archive"})
    expect(chat.locator(".working")).to_be_hidden()
    push(FINISHED)
    finished(chat)


# --- Approvals


def test_arguments_are_edited_before_they_are_approved(chat):
    sent = answer_with(chat, asking(approval("it")), [STARTED, ended("call-it", "Published."), FINISHED])
    say(chat, "hello")
    chat.get_by_role("button", name="Edit", exact=True).click()
    expect(chat.get_by_label("Title")).to_be_focused()
    chat.get_by_label("Title").fill("Milk")
    chat.get_by_label("Priority").fill("9")
    chat.get_by_role("button", name="Approve with changes").click()
    assert len(sent) == 1  # the browser says what is wrong with it
    chat.get_by_label("Priority").fill("5")
    chat.get_by_label("Place").select_option("home")
    chat.get_by_role("button", name="Add").click()
    chat.get_by_role("textbox", name="Tags 2").fill("b")
    chat.get_by_role("button", name="Remove Tags 1").click()
    chat.get_by_role("button", name="Approve with changes").click()
    finished(chat)
    edited = {"title": "Milk", "priority": 5, "place": "home", "tags": ["b"]}
    payload = {"approved": True, "editedArgs": edited}
    assert sent[1]["resume"] == [{"interruptId": "it", "status": "resolved", "payload": payload}]
    # The card has the arguments that ran, and who changed them.
    new_chat(chat)
    ran = {"title": "Milk", "priority": 5, "place": "home", "tags": []}
    result = ended("call-it", "Published.", editedArguments=json.dumps(ran), editedBy="Ada Lovelace")
    answer_with(chat, asking(approval("it")), [STARTED, result, FINISHED])
    say(chat, "hello")
    chat.get_by_role("button", name="Edit", exact=True).click()
    chat.get_by_label("Title").fill("Milk")
    chat.get_by_role("button", name="Approve with changes").click()
    finished(chat)
    card = cards(chat).first
    expect(card.locator("summary")).to_contain_text("Done · Changed")
    card.locator("summary").click()
    expect(card).to_contain_text("Changed by Ada Lovelace before it ran.")
    expect(card.locator("dd")).to_have_text(["Milk", "5", "home", "Empty"])
    # An approval whose form was not touched is a plain one.
    new_chat(chat)
    sent = answer_with(chat, asking(approval("it")), [STARTED, FINISHED])
    say(chat, "hello")
    chat.get_by_role("button", name="Edit", exact=True).click()
    chat.get_by_role("button", name="Approve with changes").click()
    finished(chat)
    assert sent[1]["resume"] == [{"interruptId": "it", "status": "resolved", "payload": {"approved": True}}]
    # To edit one argument leaves the others as they were.
    new_chat(chat)
    given = {
        "body": "Dear Grace,\nthank you.\n",
        "when": "2026-12-20T08:30:15",
        "at": "2026-12-20T08:30:00.123456+01:00",
        "price": "12.50",
        "key": "secret",
        "number": 12345678901234567890,
    }
    kinds = {
        "body": {"type": "string"},
        "when": {"type": "string", "format": "date-time"},
        "at": {"type": "string", "format": "date-time"},
        "price": {"anyOf": [{"type": "number"}, {"type": "string"}]},
        "key": {"type": "string", "format": "password", "writeOnly": True},
        "number": {"type": "integer"},
        "note": {"type": "string", "default": "none"},
    }
    schema = {"type": "object", "properties": {"editedArgs": {"type": "object", "properties": kinds}}}
    asked = waiting(approval("it", responseSchema=schema))
    sent = answer_with(chat, [STARTED, *begun("call-it", "send", given), asked], [STARTED, FINISHED])
    say(chat, "hello")
    chat.get_by_role("button", name="Edit", exact=True).click()
    expect(chat.get_by_label("Body")).to_have_value(given["body"])
    expect(chat.get_by_label("Key")).to_have_attribute("type", "password")
    expect(chat.get_by_role("spinbutton", name="Price")).to_have_value("12.50")
    chat.get_by_label("When").fill("2026-12-21T08:30:15")
    chat.get_by_label("Body").press("Enter")
    chat.get_by_label("Body").press("Backspace")
    chat.get_by_role("button", name="Approve with changes").click()
    finished(chat)
    [entry] = sent[1]["resume"]
    assert entry["payload"] == {"approved": True, "editedArgs": given | {"when": "2026-12-21T08:30:15"}}


def test_question_shows_all_that_the_tool_will_get_and_a_denial_may_have_a_reason(chat):
    given = {
        "to": {"street": "Main"},
        "when": "2026-12-20T08:30:00",
        "at": "2026-12-20T08:30:15-05:00",
        "key": "secret",
    }
    all_of_it = given | {
        "to": {"street": "Main", "tags": ["a", "b"]},
        "body": "Dear Sir",
        "copies": 12345678901234567890,
    }
    schema = {"type": "object", "properties": {"key": {"type": "string", "format": "password"}}}
    one = approval(
        "it",
        responseSchema={"type": "object", "properties": {"editedArgs": schema}},
        metadata={"toolName": "send", "arguments": json.dumps(all_of_it)},
    )
    answer_with(chat, [STARTED, *begun("call-it", "send", given), waiting(one)])
    say(chat, "hello")
    question = chat.get_by_role("group", name="Publish it?")
    expect(question.locator("dt")).to_have_text(["to", "street", "tags", "when", "at", "key", "body", "copies"])
    times = ["Dec 20, 2026, 8:30 AM (no time zone)", "Dec 20, 2026, 8:30:15 AM (UTC-05:00)"]
    shown = question.locator(".question-view > .arguments > dd")
    expect(shown).to_have_text(
        [re.compile("Main.*a.*b"), *times, "••••••••", "Dear Sir", "12345678901234567890"], use_inner_text=False
    )
    new_chat(chat)
    sent = answer_with(chat, asking(approval("one"), approval("two")), [STARTED, FINISHED])
    say(chat, "hello")
    first, second = (chat.get_by_role("group", name=f"Publish {name}?") for name in ("one", "two"))
    # With the keyboard alone: Escape leads back, and what was typed is kept.
    first.get_by_role("button", name="Deny").press("Enter")
    expect(first.get_by_label("Reason")).to_be_focused()
    chat.keyboard.type("Not today.")
    chat.keyboard.press("Escape")
    expect(first).to_be_focused()
    first.get_by_role("button", name="Deny").press("Enter")
    expect(first.get_by_label("Reason")).to_have_value("Not today.")
    chat.keyboard.press("Enter")
    expect(second).to_be_focused()
    expect(first.locator(".record")).to_contain_text("Denied: Not today.Recorded, 1 to go")
    expect(chat.get_by_role("group", name="Open questions")).to_contain_text("1 more to decide")
    second.get_by_role("button", name="Deny").click()
    second.get_by_role("button", name="Deny").click()
    finished(chat)
    payloads = [entry["payload"] for entry in sent[1]["resume"]]
    assert payloads == [{"approved": False, "reason": "Not today."}, {"approved": False}]


def test_several_questions_are_decided_at_once_and_taken_back_until_the_last_answer(chat):
    one = [approval(name) for name in ("one", "two", "three")]
    one.append(approval("gone", metadata={"x-destructive": True}))
    one.append(question("day", {"type": "string"}, toolCallId="d"))
    sent = answer_with(chat, asking(*one), [STARTED, FINISHED])
    say(chat, "hello")
    bar, log = chat.get_by_role("group", name="Open questions"), chat.locator(".log")
    expect(bar).to_contain_text(
        "5 more to decide, then all answers are sent. Destructive ones are approved one by one."
    )
    for end in (0, 1e6):
        log.evaluate("(log, end) => (log.scrollTop = end)", end)
        expect(bar).to_be_in_viewport(ratio=1)
    first, last, gone, day = (
        chat.get_by_role("group", name=name)
        for name in ("Publish one?", "Publish three?", "Publish gone?", "Question day?")
    )
    # What destroys nothing is approved together. The focus goes to a question, where Enter does nothing.
    bar.get_by_role("button", name="Approve 3").press("Enter")
    expect(gone).to_be_focused()
    chat.keyboard.press("Enter")
    expect(first).to_contain_text("ApprovedRecorded, 2 to go")
    expect(first.get_by_role("button")).to_have_text(["Change"])
    expect(gone.get_by_role("button", name="Approve")).to_be_visible()
    expect(bar.get_by_role("button", name="Approve")).to_be_hidden()
    # The user takes an answer back, and decides in another way.
    last.get_by_role("button", name="Change").press("Enter")
    expect(last).to_be_focused()
    chat.keyboard.press("Enter")
    expect(first).to_contain_text("Recorded, 3 to go")
    expect(last.get_by_role("button", name="Approve")).to_be_visible()
    first.get_by_role("button", name="Change").click()
    expect(bar.get_by_role("button", name="Approve 2")).to_be_visible()
    first.get_by_role("button", name="Deny").click()
    first.get_by_label("Reason").fill("Not this one.")
    # What is decided together takes the place of a form that is open.
    bar.get_by_role("button", name="Approve 2").click()
    expect(first.get_by_label("Reason")).to_have_count(0)
    first.get_by_role("button", name="Change").click()
    first.get_by_role("button", name="Edit").click()
    first.get_by_label("Title").fill("Milk")
    first.get_by_role("button", name="Approve with changes").click()
    expect(first).to_contain_text("Approved with changesRecorded, 2 to go")
    expect(first.locator("dd").first).to_have_text("Milk")
    first.get_by_role("button", name="Change").click()
    expect(first.locator("dd").first).to_have_text("Bread")
    bar.get_by_role("button", name="Next").click()
    expect(first).to_be_focused()
    day.get_by_label("Your answer").fill("Monday")
    day.get_by_role("button", name="Send answer").click()
    expect(day).to_contain_text("AnsweredRecorded, 2 to go")
    assert len(sent) == 1
    bar.get_by_role("button", name="Deny all").click()
    finished(chat)
    answers = {entry.pop("interruptId"): entry for entry in sent[1]["resume"]}
    yes, no = ({"status": "resolved", "payload": {"approved": approved}} for approved in (True, False))
    assert answers == {
        "one": no, "two": yes, "three": yes, "gone": no, "day": {"status": "resolved", "payload": "Monday"}
    }  # fmt: skip
    expect(bar).to_be_hidden()
    expect(message_box(chat)).to_be_focused()


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
        expect(cards(scripted)).to_have_count(2)
        for number in range(2):
            expect(cards(scripted).nth(number)).to_have_attribute("data-status", "denied")
        expect(scripted.locator(".user .bubble")).to_have_text(["delete twice", "Keep them, please"])
        expect(scripted.locator(".assistant .prose:visible").last).to_contain_text("end.")
        scripted.reload()
    assert stored_texts(scripted, "user") == ["delete twice", "Keep them, please"]
    assert stored_texts(scripted, "tool") == ["Keep them, please"] * 2
    # A form is only skipped.
    say(scripted, "a trip")
    box.fill("No trip")
    expect(scripted.get_by_text("Sending this skips the open question.")).to_be_visible()
    # A skill that is sent at once at other times comes into the input, where the user sees what it does.
    box.fill("/plan_my")
    box.press("Enter")
    expect(box).to_have_value(re.compile("^Look at my open tasks"))
    expect(scripted.get_by_text("Sending this skips the open question.")).to_be_visible()
    box.fill("No trip")
    box.press("Enter")
    finished(scripted)
    assert stored_texts(scripted, "user")[-1] == "No trip"
    assert stored_texts(scripted, "tool")[-1] == "The user declined to answer."


NAMES = ["Oak table", "Lamp", "Chair", "Shelf", "Rug", "Cushion", "Curtain", "Mirror", "Rack", "Pot", "Vase", "Clock"]
LINES = [{"sku": f"A-{n}", "title": name, "quantity": n + 1, "price": 9.5} for n, name in enumerate(NAMES)]
ADDRESS = {"name": "Ada", "street": "12 St James's Square", "city": "London", "postcode": "SW1Y 4JH", "country": "GB"}
DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-old\n+new\n"
ORDER = {
    "lines": LINES,
    "customer": {"name": "Ada", "billing": ADDRESS},
    "to": [f"p{n}@example.com" for n in range(40)],
    "patch": DIFF,
    "pins": [{"id": 7, "name": "1234"}],
}


def test_nested_arguments_are_numbered_and_folded_and_the_buttons_stay_in_sight(chat):
    line = {"type": "object", "properties": {name: {"type": "string"} for name in ("sku", "title")}}
    line["properties"] |= {"quantity": {"type": "integer", "minimum": 1}, "price": {"type": "number"}}
    pin = {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "name": {"type": "string", "format": "password"}},
    }
    lists = {"lines": {"type": "array", "items": line}, "pins": {"type": "array", "items": pin}}
    schema = {"type": "object", "properties": {"editedArgs": {"type": "object", "properties": lists}}}
    metadata = {"toolName": "order", "arguments": json.dumps(ORDER)}
    chat.set_viewport_size({"width": 380, "height": 700})
    one = approval("it", responseSchema=schema, metadata=metadata)
    answer_with(chat, [STARTED, *begun("call-it", "order", ORDER), waiting(one)])
    say(chat, "hello")
    question, log = chat.get_by_role("group", name="Publish it?"), chat.locator(".log")
    heads = question.locator(".items > li > p")
    expect(heads).to_have_text([*(f"{n + 1}. {name}" for n, name in enumerate(NAMES[:5])), "1. id 7"])
    expect(question.locator(".items > li").last).to_contain_text("••••••••")
    for place in (0, 0.4, 1):
        log.evaluate("(log, place) => (log.scrollTop = place * log.scrollHeight)", place)
        for name in ("Approve", "Edit", "Deny"):
            expect(question.get_by_role("button", name=name, exact=True)).to_be_in_viewport(ratio=1)
        assert log.evaluate("log => log.scrollWidth - log.clientWidth") <= 0
    expect(chat.get_by_role("button", name="Go to the latest message")).to_be_hidden()
    # A user who comes back to the question sees what it is. A press into the arguments scrolls nothing.
    question.get_by_role("button", name="Deny").click()
    expect(question.get_by_label("Reason")).to_be_in_viewport(ratio=1)
    log.evaluate("log => (log.scrollTop = log.scrollHeight)")
    expect(question.locator(".question-text")).not_to_be_in_viewport()
    chat.keyboard.press("Escape")
    expect(question.locator(".question-text")).to_be_in_viewport(ratio=1)
    message_box(chat).focus()
    log.evaluate("log => (log.scrollTop = 0.4 * log.scrollHeight)")
    question.locator(".items > li > p").nth(4).click()
    expect(question).to_be_focused()
    expect(question.locator(".question-text")).not_to_be_in_viewport()
    question.get_by_role("button", name="Show all 12").press("Enter")
    expect(heads.nth(11)).to_have_text("12. Clock")
    expect(question.locator(".items > li").nth(5)).to_be_focused()
    expect(question.locator(".values > li")).to_have_count(5)
    question.get_by_role("button", name="Show all 40").click()
    expect(question.locator(".values > li")).to_have_count(40)
    # What lies deep folds, with its size and its first values.
    folded = question.locator("details.fold")
    expect(folded.locator("summary")).to_have_text("5 fieldsAda · 12 St James's Square · London · SW1Y 4JH · GB")
    expect(folded.get_by_text("postcode")).to_be_hidden()
    folded.locator("summary").press("Enter")
    expect(folded.get_by_text("postcode")).to_be_visible()
    expect(question.locator(".diff .removed")).to_have_text("-old")
    expect(question.locator(".diff .added")).to_have_text("+new")
    # The form numbers them, too. Many begin folded, and one opens if a field in it does not fit.
    question.get_by_role("button", name="Edit", exact=True).click()
    rows = question.locator(".folded-row")
    expect(rows.locator("summary")).to_have_text([*(f"{n + 1}.{name}" for n, name in enumerate(NAMES)), "1.id 7"])
    expect(rows.first.locator("summary")).to_be_focused()
    chat.keyboard.press("Enter")
    expect(rows.first.get_by_label("Title")).to_have_value("Oak table")
    rows.first.get_by_label("Quantity").fill("0")
    rows.first.locator("summary").click()
    expect(rows.first.get_by_label("Quantity")).to_be_hidden()
    question.get_by_role("button", name="Approve with changes").click()
    expect(rows.first.get_by_label("Quantity")).to_be_focused()
    question.get_by_role("button", name="Remove Lines 2").click()
    expect(rows.nth(1).locator("summary")).to_have_text("2.Chair")
    # The style of values changes nothing else: the list of conversations stands beside the log, which fills its place.
    chat.set_viewport_size({"width": 1280, "height": 700})
    chat.get_by_role("button", name="Conversations").first.click()
    expect(chat.locator(".drawer.beside")).to_be_visible()
    assert log.evaluate("log => log.parentElement.offsetWidth - log.offsetWidth") == 0


# --- Questions


CAT, DOG = (
    {"type": "object", "title": name, "properties": {"kind": {"const": name.lower()}, **fields}, "required": ["kind"]}
    for name, fields in (("Cat", {"lives": {"type": "integer"}}), ("Dog", {"name": {"type": "string"}}))
)
PETS = [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]
HOUSEHOLD = {
    "type": "object",
    "required": ["pets", "amount"],
    "properties": {
        "pets": {"type": "array", "items": {"oneOf": PETS}, "minItems": 1},
        "amount": {"anyOf": [{"type": "number"}, {"type": "string", "pattern": "^[0-9.]+$"}]},
        "at": {"type": "string", "format": "time"},
        "note": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}], "default": None},
    },
    "$defs": {"Cat": CAT, "Dog": DOG},
}


def test_question_has_lists_and_alternatives(chat):
    sent = answer_with(chat, asking(question("q", HOUSEHOLD, toolCallId="c")), [STARTED, FINISHED])
    say(chat, "hello")
    chat.get_by_role("combobox", name="Pets 1").select_option("Dog")
    chat.get_by_role("textbox", name="Name").fill("Rex")
    expect(chat.get_by_role("button", name="Remove Pets 1")).to_be_hidden()
    chat.get_by_role("button", name="Add").click()
    expect(chat.get_by_role("combobox", name="Pets 2")).to_be_focused()
    chat.get_by_role("spinbutton", name="Lives").fill("9")
    chat.get_by_role("spinbutton", name="Amount").fill("1.5")
    chat.get_by_role("textbox", name="At (optional)").fill("10:30")
    chat.get_by_role("combobox", name="Note").select_option("Number")
    chat.get_by_role("spinbutton", name="Number").fill("3")
    chat.get_by_role("button", name="Send answer").click()
    finished(chat)
    pets = [{"kind": "dog", "name": "Rex"}, {"kind": "cat", "lives": 9}]
    assert sent[1]["resume"][0]["payload"] == {"pets": pets, "amount": 1.5, "at": "10:30", "note": 3}


# --- Activities


CHART = {
    "title": "Tasks",
    "type": "bar",
    "labels": ["home", "work", "<i>"],
    "series": [{"name": "Open", "values": [1, -2.5, None]}, {"name": "Done", "values": [3, 4, 1e9]}],
    "unit": "h",
}


def test_plans_tables_and_charts_change_in_their_place(chat):
    push = open_stream(chat)
    steps = [{"title": "Search", "status": "done"}, {"title": "Book", "status": "running"}, {"title": "Pay"}]
    push(shown("plan", {"title": "Trip", "steps": steps}))
    items = chat.get_by_role("listitem")
    expect(items).to_have_text(["Done: Search", "Running: Book", "To do: Pay"])
    expect(items.nth(1)).to_have_attribute("aria-current", "step")
    items.nth(1).evaluate("item => (window.item = item)")
    push(changed("plan", "/steps/1/status", "failed"))
    expect(items).to_have_text(["Done: Search", "Failed: Book", "To do: Pay"])
    expect(chat.locator(".activity")).to_contain_text("1 of 3 done")
    assert items.nth(1).evaluate("item => item === window.item")
    # A table stays sorted while it grows.
    new_chat(chat)
    push = open_stream(chat)
    push(shown("table", {"title": "Trains", "columns": ["train", "price"], "rows": [["b", 9], ["a", 10], ["c", None]]}))
    table = chat.get_by_role("region", name="Trains")
    table.get_by_role("button", name="price").click()
    table.get_by_role("button", name="price").click()
    heads = table.get_by_role("columnheader")
    expect(heads.last).to_have_attribute("aria-sort", "descending")
    expect(table.locator("tbody td:first-child")).to_have_text(["a", "b", "c"])
    push(changed("table", "/rows/-", ["d", 9.5], op="add"))
    expect(table.locator("tbody td:first-child")).to_have_text(["a", "d", "b", "c"])
    expect(heads.last.get_by_role("button")).to_be_focused()
    assert heads.last.evaluate("head => getComputedStyle(head).textAlign") == "end"
    # A chart is a picture with its numbers beneath.
    new_chat(chat)
    push = open_stream(chat)
    push(shown("chart", CHART))
    picture = chat.get_by_role("img", name="Tasks")
    expect(picture).to_have_accessible_description("Bar chart. Open, Done. 3 values, from -2.5 to 1,000,000,000 h")
    plot = chat.get_by_role("group", name="Tasks")
    plot.press("ArrowRight")
    plot.press("End")
    plot.press("ArrowLeft")
    expect(chat.locator(".readout")).to_have_text("work: Open -2.5 h · Done 4 h")
    chat.locator(".activity summary", has_text="Data").click()
    expect(chat.get_by_role("row")).to_have_text([re.compile("Label"), "home13", "work-2.54", "<i>1000000000"])
    expect(chat.get_by_role("rowheader", name="work")).to_be_visible()
    plot.focus()
    push(changed("chart", "/series/0/values/1", 7))
    expect(chat.get_by_role("row").nth(2)).to_have_text("work74")
    expect(plot).to_be_focused()
    push(changed("chart", "/type", "line"))
    expect(picture).to_have_accessible_description(re.compile("^Line chart"))


def test_table_says_its_values_as_a_person_does_and_is_one_without_rows(chat):
    push = open_stream(chat)
    rows = [
        {"number": 7, "patient_name": "Ada", "starts_at": "2026-12-11T08:30:00Z", "fee": "19.50"},
        {"number": 8, "patient_name": "Alan", "starts_at": "2026-12-12T08:30:00", "fee": "9.50"},
    ]
    push(shown("table", {"title": "Visits", "columns": [*rows[0]], "rows": rows}))
    table = chat.get_by_role("region", name="Visits")
    expect(table.get_by_role("columnheader")).to_have_text(["Number", "Patient name", "Starts at", "Fee"])
    expect(table.locator("tbody td:nth-child(3)").first).to_have_text(re.compile(r"^Dec 11, 2026, 8:30\sAM UTC$"))
    expect(table.locator("tbody td:nth-child(3)").last).to_have_text(re.compile(r"^Dec 12, 2026, 8:30\sAM$"))
    align = "cell => getComputedStyle(cell).textAlign"
    cells = table.locator("tbody tr").first.locator("td")
    assert [cell.evaluate(align) for cell in cells.all()] == ["start", "start", "start", "end"]
    table.get_by_role("button", name="Fee").click()
    expect(table.locator("tbody td:last-child")).to_have_text(["9.50", "19.50"])
    for columns in ([], ["train", "price"]):
        new_chat(chat)
        push = open_stream(chat)
        push(shown("table", {"title": "Trains", "columns": columns, "rows": []}))
        card = chat.locator(".activity")
        expect(card).to_contain_text("Trains")
        expect(card).to_contain_text("No rows")
        expect(card.get_by_role("columnheader")).to_have_text([name.capitalize() for name in columns])
        expect(card.locator("pre")).to_have_count(0)
        push(changed("table", "/rows/-", {"train": "b", "price": 9}, op="add"))
        expect(card.get_by_role("cell")).to_have_text(["b", "9"])
        expect(card.get_by_text("No rows")).to_be_hidden()


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
# What else is no chart is in tests/element/chart-data.test.mjs.
HOSTILE = [
    *(("chart", content) for content in (None, "x", {"labels": ["a"], "series": [None]})),
    *(("table", content) for content in (None, {"rows": "x"}, {"rows": [1], "columns": 5})),
    ("table", {"columns": ["x"] * 500, "rows": [[1]]}),
    *(("plan", content) for content in (None, {"steps": [None]}, {"steps": [{}]}, {"steps": {"length": 5}})),
    ("__proto__", {"a": 1}),
    ("constructor", {"a": 1}),
    ("toString", None),
]


def test_odd_numbers_are_drawn_and_what_can_not_be_is_folded_json_and_never_markup(chat):
    # No chart of odd numbers has a NaN.
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
    new_chat(chat)
    answer_with(chat, [STARTED, *(shown(kind, one, f"a{n}") for n, (kind, one) in enumerate(HOSTILE)), FINISHED])
    say(chat, "hello")
    folded = chat.locator(".activity > details")
    expect(folded).to_have_count(len(HOSTILE))
    expect(folded.locator("summary")).to_have_text([kind for kind, _ in HOSTILE])
    expect(message_box(chat)).to_be_editable()
    # Markup and odd names are text.
    new_chat(chat)
    markup = "<img src=x onerror='window.pwned = 1'>"
    rows = [{"__proto__": markup, "constructor": markup, markup: {"a": markup}}, {markup: None}]
    series = [{"name": markup, "values": [1]}] * 2
    contents = [
        ("plan", {"title": markup, "steps": [{"title": markup, "status": "__proto__"}]}),
        ("table", {"title": markup, "rows": rows}),
        ("chart", {"title": markup, "labels": [markup], "series": series, "unit": markup}),
    ]
    answer_with(chat, [STARTED, *(shown(kind, one, kind) for kind, one in contents), FINISHED])
    say(chat, "hello")
    expect(chat.locator(".activity-body")).to_have_count(3)
    expect(chat.locator(".activity img")).to_have_count(0)
    assert chat.evaluate("[window.pwned, {}.status]") == [None, None]


def test_parts_draw_and_without_them_a_chart_is_folded_json_and_a_formula_its_source(chat):
    modules = json.loads(chat.locator("agui-chat").get_attribute("data-modules"))
    set_modules = "(chat, modules) => { chat.dataset.modules = modules; }"
    names = asked(chat, r"/static/(agui_\w+|weather)/")
    chat.locator("agui-chat").evaluate("chat => delete chat.dataset.modules")
    run = [STARTED, shown("chart", CHART), chunk("So $x^2$."), FINISHED]
    answer_with(chat, run, run)
    say(chat, "hello")
    expect(chat.locator(".activity > details > summary")).to_have_text("chart")
    expect(chat.locator(".prose .math")).to_have_text("x^2")
    finished(chat)
    assert names == []
    # A module that can't be loaded is like one that is not there.
    missing = modules | {"activity:chart": "/static/agui_charts/no.js"}
    chat.locator("agui-chat").evaluate(set_modules, json.dumps(missing))
    new_chat(chat)
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


# In the order in which they are seen: each stands in a slot, where its message is.
TEXTS_FROM_ABOVE = """(texts) => {
    const cards = [...document.querySelectorAll("agui-chat > .my-stock")];
    const top = (card) => card.getBoundingClientRect().top;
    return `${cards.sort((a, b) => top(a) - top(b)).map((card) => card.textContent)}` === `${texts}`;
}"""


def test_page_adds_buttons_and_draws_its_own_activities_and_events(chat):
    def register(place: str) -> None:
        chat.locator("agui-chat").evaluate(
            """(chat, on) => chat.registerAction({
                name: `my-${on}`, label: `My ${on}`, icon: "M4 4h16v16H4z", on,
                run: (about) => { window.told = about; about.fill?.(about.text.toUpperCase()); },
            })""",
            place,
        )

    def press(place: str) -> dict:
        chat.get_by_role("button", name=f"My {place}").last.click()
        return chat.evaluate("window.told")

    register("composer")
    message_box(chat).fill("hello")
    assert press("composer")["text"] == "hello"
    expect(message_box(chat)).to_have_value("HELLO")
    register("header")
    assert press("header") == {"threadId": None}
    push = open_stream(chat)
    push(chunk("**Yes**", "a"), FINISHED)
    expect(chat.get_by_role("button", name="Copy the answer")).to_be_attached()
    register("answer")  # a bar that is there gets it, too
    told = press("answer")
    assert (told["text"], told["messageId"]) == ("**Yes**", "a")
    assert told["threadId"]
    wrong = "chat => { try { chat.registerAction({ name: 'x' }) } catch (error) { return error.name } }"
    assert chat.locator("agui-chat").evaluate(wrong) == "TypeError"
    # The page's own elements show activities.
    new_chat(chat)
    push = open_stream(chat)
    push(shown("map", {"city": "Rome"}))
    expect(chat.locator(".activity > details")).to_be_visible()
    chat.locator("agui-chat").evaluate("""chat => void chat.registerActivity("map", (content, element) => {
        if (!content.city) throw new Error("no city");
        element.className = "my-map";
        element.textContent = `Map of ${content.city}`;
    })""")
    mine = chat.locator("agui-chat > .my-map")
    expect(mine).to_have_text("Map of Rome")
    push(changed("map", "/city", "Oslo"))
    expect(mine).to_have_text("Map of Oslo")
    push(changed("map", "/city", op="remove"))
    expect(chat.locator(".activity > details")).to_be_visible()
    push(changed("map", "/city", "Bern", op="add"), FINISHED)
    expect(mine).to_have_text("Map of Bern")
    chat.get_by_role("button", name="New chat").click()
    expect(mine).to_have_count(0)
    chat.locator("agui-chat").evaluate("""chat => chat.registerEvent("stock", (value, element) => {
        element.className = "my-stock";
        element.textContent = `${value.name}: ${value.count}`;
    })""")
    push = open_stream(chat)
    stock = custom("stock", {"id": 1, "name": "Tea", "count": 3})
    push(stock, stock | {"value": {"name": "Rum", "count": 1}}, stock | {"name": "other"})
    chat.wait_for_function(TEXTS_FROM_ABOVE, arg=["Tea: 3", "Rum: 1"])
    push(stock | {"value": {"id": 1, "name": "Tea", "count": 2}}, FINISHED)
    chat.wait_for_function(TEXTS_FROM_ABOVE, arg=["Tea: 2", "Rum: 1"])
    expect(chat.locator(".message.activity")).to_have_count(2)


def test_demo_draws_a_chart_that_is_there_again_after_a_reload(chat):
    say(chat, "add task Buy milk category=home")
    finished(chat)
    say(chat, "chart my tasks")
    picture = chat.get_by_role("img", name="Your tasks")
    expect(picture).to_be_visible()
    finished(chat)
    chat.reload()
    expect(picture).to_have_accessible_description(re.compile(r"^Stacked bar chart\. Open, Finished\. "))
