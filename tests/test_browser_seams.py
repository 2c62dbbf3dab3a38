"""What a page makes its own without a fork: ten extensions, and what each of its seams promises."""

import re

import pytest
from pages import Page, answers, drawn, expect, finished, message_box, new_chat, open_stream, say, seen, thread_id

pytestmark = pytest.mark.browser

FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def on_chat(page: Page, script: str, *arguments):
    """Run what a page's own script would."""
    return page.locator("agui-chat").evaluate(f"(chat, [...given]) => {{ {script} }}", list(arguments))


# Each of these is all that a page needs for it.
EXTENSIONS = {
    "view of a tool": """
        chat.registerToolView("add_task", {
          done({ result }, element) {
            element.className = "my-task";
            element.textContent = `Added: ${result.title}`;
          },
        });
    """,
    "avatar": """
        const face = new Image(28, 28);
        face.slot = "avatar";
        face.src = "/static/assistant/icon.svg";
        chat.append(face);
        chat.registerAction({
          name: "none", label: "None", icon: "M4 4h4v4H4z", on: "header", run() {}, when: () => false,
        });
    """,
    "button in the header": """
        chat.registerAction({
          name: "help", label: "Help", icon: "M12 17v.01M9 9a3 3 0 1 1 3 4v1", on: "header",
          run: ({ threadId }) => (window.helped = threadId ?? "new"),
        });
    """,
    "own colours": """
        chat.style.setProperty("--agui-accent", "rgb(120, 0, 120)");
    """,
    "rule for texts": """
        chat.registerAnswer((answer) => {
          for (const code of answer.querySelectorAll("code")) {
            if (/^#[0-9a-f]{6}$/i.test(code.textContent)) code.style.borderBottom = `3px solid ${code.textContent}`;
          }
        });
    """,
    "card for an event": """
        chat.registerEvent("stock", ({ name, count }, element) => {
          element.className = "my-stock";
          element.textContent = `${name}: ${count} left`;
        });
    """,
    "panel": """
        const panel = Object.assign(document.createElement("aside"), { id: "my-panel", hidden: true });
        panel.textContent = "My panel";
        chat.after(panel);
        chat.registerAction({
          name: "panel", label: "Panel", icon: "M4 5h16v14H4zM14 5v14", on: "header",
          run: () => (panel.hidden = !panel.hidden), pressed: () => !panel.hidden,
        });
    """,
    "shortcut": """
        document.addEventListener("keydown", (event) => {
          if (event.altKey && event.code === "KeyN") chat.newChat();
        });
    """,
}


def test_extensions_need_no_fork(chat):
    for script in EXTENSIONS.values():
        on_chat(chat, script)
    # A button in the header, and a panel.
    chat.get_by_role("button", name="Help").click()
    assert chat.evaluate("window.helped") == "new"
    expect(chat.get_by_role("button", name="None")).to_have_count(0)
    toggle = chat.get_by_role("button", name="Panel")
    expect(toggle).to_have_attribute("aria-pressed", "false")
    toggle.click()
    expect(toggle).to_have_attribute("aria-pressed", "true")
    expect(chat.locator("#my-panel")).to_be_visible()
    toggle.click()
    # The view of a tool, an avatar beside each answer, and words; all are there again after a reload.
    seen(chat, 'add_task title="Buy milk"')
    seen(chat, 'add_task title="Buy tea"')
    expect(chat.locator("agui-chat > .my-task")).to_have_text(["Added: Buy milk", "Added: Buy tea"])
    faces = chat.locator("agui-chat > img")
    expect(faces).to_have_count(3)  # the page's own, which is not shown, and a copy for each answer
    tops = chat.evaluate(
        """[...document.querySelectorAll("agui-chat > img")].map((one) => one.getBoundingClientRect().top)"""
    )
    assert tops[0] == 0 < tops[1] < tops[2]
    chat.reload()
    for script in EXTENSIONS.values():
        on_chat(chat, script)
    expect(chat.locator("agui-chat > .my-task")).to_have_text(["Added: Buy milk", "Added: Buy tea"])
    expect(faces).to_have_count(3)
    # A shortcut. What the page has drawn goes with the conversation.
    message_box(chat).press("Alt+n")
    expect(chat.locator("agui-chat > .my-task")).to_have_count(0)
    expect(faces).to_have_count(1)
    # A card for an event, and a rule for texts.
    push = open_stream(chat)
    push({"type": "CUSTOM", "name": "stock", "value": {"name": "Tea", "count": 3}})
    expect(chat.locator("agui-chat > .my-stock")).to_have_text("Tea: 3 left")
    push({"type": "TEXT_MESSAGE_CHUNK", "messageId": "a", "delta": "Use `#ff0000`, not `red`."})
    drawn(chat)
    bordered = chat.locator('.prose code[style*="border-bottom"]')
    expect(bordered).to_have_count(0)  # not before the text is complete
    push(FINISHED)
    expect(bordered).to_have_text(["#ff0000"])
    # Colours.
    accent = "(panel) => getComputedStyle(panel).getPropertyValue('--_accent')"
    assert chat.locator(".panel").evaluate(accent) == "rgb(120, 0, 120)"


def test_page_brings_words_and_a_language_of_its_own(chat):
    """The other two, which are there before the element is connected."""
    module = "export const STRINGS = { lang: 'fr', placeholder: 'Demandez', send: 'Envoyer' };"
    chat.route("**/fr.js", lambda route: route.fulfill(body=module, content_type="text/javascript"))
    on_chat(
        chat,
        """
        const own = chat.cloneNode();
        own.lang = "fr";
        own.strings = { placeholder: "Une question ?" };
        own.dataset.stringsUrl = new URL("/fr.js", location).href;
        chat.replaceWith(own);
    """,
    )
    expect(chat.get_by_role("button", name="Envoyer")).to_be_visible()
    expect(chat.get_by_placeholder("Une question ?")).to_be_visible()


VIEW = """
    window.draws = [];
    window.takeBack = chat.registerToolView("delete_finished_tasks", {
      running(call, element) { draws.push(["running", call.args]); element.textContent = "Deleting…"; },
      done({ result }, element) {
        if (window.breaks) throw new Error("broken");
        element.textContent = `Yes: ${result}`;
      },
      failed({ status }, element) { element.textContent = `No: ${status}`; },
      approval({ message, approve, deny, answered }, element) {
        const button = (textContent, onclick) =>
          Object.assign(document.createElement("button"), { textContent, onclick });
        const no = button("No, thanks", () => deny("Not today"));
        element.replaceChildren(message, button("Yes, please", approve), no, answered ?? "");
      },
    });
"""


def test_page_draws_approvals_and_how_calls_end(scripted):
    on_chat(scripted, VIEW)
    say(scripted, "both")
    # The focus goes to the question, never to its buttons.
    group = scripted.get_by_role("group", name="Delete all your finished tasks? They can't be restored.")
    expect(group).to_be_focused()
    expect(scripted.get_by_role("button", name="Approve")).to_have_count(0)
    scripted.reload()
    on_chat(scripted, VIEW)
    scripted.get_by_role("button", name="No, thanks").click()
    mine = scripted.locator("agui-chat > div[slot^=tool-]")
    expect(mine).to_have_text("No: denied")
    finished(scripted)
    scripted.wait_for_function("""() => document.querySelector("agui-chat").session.conversation.messages
        .some(({ role, content }) => role === "tool" && content.includes("Not today"))""")
    # A listener's event is no changed argument.
    new_chat(scripted)
    expect(mine).to_have_count(0)
    say(scripted, "twice")
    expect(scripted.get_by_role("button", name="Yes, please")).to_have_count(2)
    scripted.get_by_role("button", name="Yes, please").first.click()
    expect(mine.first).to_contain_text("approved")
    expect(scripted.get_by_role("group", name=re.compile("Delete all")).nth(1)).to_be_focused()
    scripted.get_by_role("button", name="Yes, please").last.click()
    expect(mine).to_have_text(["Yes: Deleted 0 finished tasks."] * 2)
    finished(scripted)
    # An error of the page's function, and a view that is taken back: the card of the chat.
    scripted.evaluate("window.breaks = true")
    new_chat(scripted)
    say(scripted, "both")
    scripted.get_by_role("button", name="Yes, please").click()
    finished(scripted)
    card = scripted.locator(".tool").nth(1)
    expect(card.locator("summary")).to_be_visible()
    expect(card.locator("summary")).to_contain_text("Done")
    scripted.evaluate("window.breaks = false")
    scripted.evaluate("takeBack()")
    expect(mine).to_have_count(0)
    expect(card.locator("summary")).to_be_visible()


def test_view_of_a_tool_follows_the_arguments_as_they_stream(chat):
    on_chat(
        chat,
        """
        chat.registerToolView("write", {
          running({ args, step, percent }, element) {
            element.className = "my-write";
            element.textContent = [args.title, args.lines?.length, step, percent].join("|");
          },
        });
    """,
    )
    push = open_stream(chat)
    mine = chat.locator("agui-chat > .my-write")
    call = {"toolCallId": "c"}
    push({"type": "TOOL_CALL_START", **call, "toolCallName": "write"})
    expect(mine).to_have_text("|||")
    push({"type": "TOOL_CALL_ARGS", **call, "delta": '{"title": "Dear A'})
    expect(mine).to_have_text("Dear A|||")
    push({"type": "TOOL_CALL_ARGS", **call, "delta": 'da", "lines": ["a", "b'})
    expect(mine).to_have_text("Dear Ada|2||")
    push({"type": "TOOL_CALL_ARGS", **call, "delta": '"]}'}, {"type": "TOOL_CALL_END", **call})
    # Without a function for the end, the card shows it.
    push({"type": "TOOL_CALL_RESULT", **call, "messageId": "m", "content": "ok"}, FINISHED)
    expect(chat.locator(".tool summary")).to_be_visible()
    expect(mine).to_be_hidden()


def test_all_that_is_registered_can_be_taken_back_and_failures_of_buttons_are_told(chat):
    on_chat(
        chat,
        """
        const icon = "M4 4h16v16H4z";
        window.back = [
          chat.registerAction({ name: "a", label: "Break", icon, on: "header", run() { throw new Error("sync"); } }),
          chat.registerAction({
            name: "b", label: "Fail", icon, on: "composer", disabled: ({ text }) => !text,
            run: async () => { throw new Error("late"); },
          }),
          chat.registerEvent("stock", (value, element) => (element.className = "my-stock")),
          chat.registerActivity("map", (content, element) => (element.className = "my-map")),
          chat.registerTool({ name: "hello", handler() {} }),
        ];
    """,
    )
    fail = chat.get_by_role("button", name="Fail")
    expect(fail).to_have_attribute("aria-disabled", "true")
    chat.get_by_role("button", name="Break").click()
    told = chat.get_by_role("alert").filter(has_text="did not work")
    expect(told).to_have_text("“Break” did not work.")
    fail.click(force=True)
    expect(told).to_have_text("“Break” did not work.")
    message_box(chat).press_sequentially("x")
    expect(fail).not_to_have_attribute("aria-disabled", "true")
    fail.click()
    expect(told).to_have_text("“Fail” did not work.")
    push = open_stream(chat)
    stock = {"type": "CUSTOM", "name": "stock", "value": {}}
    push(stock, {"type": "ACTIVITY_SNAPSHOT", "messageId": "m", "activityType": "map", "content": {}})
    expect(chat.locator("agui-chat > :is(.my-stock, .my-map)")).to_have_count(2)
    on_chat(chat, "for (const takeBack of back) takeBack();")
    for name in ("Break", "Fail"):
        expect(chat.get_by_role("button", name=name, exact=True)).to_have_count(0)
    expect(chat.locator(".message.activity:visible")).to_have_count(1)
    expect(chat.locator(".message.activity > details:visible")).to_have_count(1)
    assert on_chat(chat, "return chat.tools.map(({ name }) => name).includes('hello');") is False
    # What has been registered under the same name since then stays.
    on_chat(
        chat,
        """
        const action = (label) => ({ name: "c", label, icon: "M4 4h16v16H4z", on: "header", run() {} });
        const takeBack = chat.registerAction(action("First"));
        chat.registerAction(action("Second"));
        takeBack();
    """,
    )
    expect(chat.get_by_role("button", name="Second")).to_be_visible()


def test_send_and_open_tell_what_has_become_of_it(scripted):
    waited = "return Promise.race([{0}.then((it) => it.status, (error) => error.name)]);"

    def send(text: str) -> str:
        return on_chat(scripted, waited.replace("{0}", f"chat.send({text!r})"))

    assert send("hello") == "idle"
    assert answers(scripted)[-1].endswith("end.")
    first = thread_id(scripted)
    assert send(f"fail {first}") == "failed"  # a prompt that the model has not seen
    assert send(" ") == "InvalidStateError"
    # A message that waits in the queue has its own end.
    on_chat(
        scripted,
        """
        window.ends = [];
        for (const text of ["one", "two"]) chat.send(text).then(({ status }) => ends.push(`${text} ${status}`));
    """,
    )
    scripted.wait_for_function("() => ends.length === 2")
    assert scripted.evaluate("ends") == ["one idle", "two idle"]
    assert send("both") == "waiting"
    new_chat(scripted)
    assert on_chat(scripted, waited.replace("{0}", f"chat.open({first!r})")) == "waiting"
    expect(scripted.locator(".user").first).to_contain_text("hello")
    assert on_chat(scripted, waited.replace("{0}", "chat.open(crypto.randomUUID())")) == "AbortError"
    # Another conversation is open before the run has ended.
    on_chat(scripted, "chat.send('slow').catch((error) => (window.gone = error.name)); ")
    scripted.wait_for_function("() => document.querySelector('agui-chat').session.busy")
    on_chat(scripted, "chat.newChat();")
    scripted.wait_for_function("() => window.gone === 'AbortError'")


def test_new_project_draws_its_list_of_tasks(chat):
    seen(chat, 'add_task title="Buy milk" category=home')
    seen(chat, "list tasks")
    box = chat.get_by_role("checkbox", name="Buy milk").last
    expect(box).not_to_be_checked()
    box.click()
    expect(box).to_be_checked()
    expect(chat.locator(".user").last).to_contain_text(re.compile(r"Complete task \d+: Buy milk"))
    finished(chat)
    expect(chat.locator(".tool summary").last).to_contain_text("Complete task")
    expect(chat.locator(".tool summary").last).to_contain_text("Done")
