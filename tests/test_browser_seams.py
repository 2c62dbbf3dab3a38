"""What a page makes its own without a fork, with a real server and in a real Chromium.

What each seam promises is in tests/element/seams.test.mjs.
"""

import re

import pytest
from pages import Page, answers, expect, finished, message_box, new_chat, say, seen, thread_id

pytestmark = pytest.mark.browser


def on_chat(page: Page, script: str, *arguments):
    """Run what a page's own script would."""
    return page.locator("agui-chat").evaluate(f"(chat, [...given]) => {{ {script} }}", list(arguments))


EXTENSIONS = """
    chat.registerToolView("add_task", {
      done({ result }, element) {
        element.className = "my-task";
        element.textContent = `Added: ${result.title}`;
      },
    });
    const face = new Image(28, 28);
    face.slot = "avatar";
    face.src = "/static/assistant/icon.svg";
    chat.append(face);
    chat.style.setProperty("--agui-accent", "rgb(120, 0, 120)");
    chat.registerAction({
      name: "fail", label: "Fail", icon: "M4 4h16v16H4z", on: "composer",
      run: () => (window.ran = true), disabled: ({ text }) => !text,
    });
    document.addEventListener("keydown", (event) => {
      if (event.altKey && event.code === "KeyN") chat.newChat();
    });
"""


def test_extensions_need_no_fork(chat):
    on_chat(chat, EXTENSIONS)
    fail = chat.get_by_role("button", name="Fail")
    expect(fail).to_have_attribute("aria-disabled", "true")
    fail.click(force=True)
    assert chat.evaluate("window.ran") is None
    # The view of a tool, and an avatar beside each answer; both are there again after a reload.
    seen(chat, 'add_task title="Buy milk"')
    seen(chat, 'add_task title="Buy tea"')
    tasks, faces = chat.locator("agui-chat > .my-task"), chat.locator("agui-chat > img")
    expect(tasks).to_have_text(["Added: Buy milk", "Added: Buy tea"])
    expect(faces).to_have_count(3)  # the page's own, which is not shown, and a copy for each answer
    tops = faces.evaluate_all("all => all.map((one) => one.getBoundingClientRect().top)")
    assert tops[0] == 0 < tops[1] < tops[2]
    chat.reload()
    on_chat(chat, EXTENSIONS)
    expect(tasks).to_have_text(["Added: Buy milk", "Added: Buy tea"])
    expect(faces).to_have_count(3)
    # A shortcut. What the page has drawn goes with the conversation.
    message_box(chat).press("Alt+n")
    expect(tasks).to_have_count(0)
    expect(faces).to_have_count(1)
    accent = "(panel) => getComputedStyle(panel).getPropertyValue('--_accent')"
    assert chat.locator(".panel").evaluate(accent) == "rgb(120, 0, 120)"


VIEW = """
    chat.registerToolView("delete_finished_tasks", {
      running(call, element) { element.textContent = "Deleting…"; },
      done({ result }, element) {
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


def test_send_and_open_tell_what_has_become_of_it(scripted):
    outcome = "return {0}.then((it) => it.status, (error) => error.name);"

    def send(text: str) -> str:
        return on_chat(scripted, outcome.replace("{0}", f"chat.send({text!r})"))

    assert send("hello") == "idle"
    assert answers(scripted)[-1].endswith("end.")
    first = thread_id(scripted)
    assert send("both") == "waiting"
    new_chat(scripted)
    assert on_chat(scripted, outcome.replace("{0}", f"chat.open({first!r})")) == "waiting"
    expect(scripted.locator(".user").first).to_contain_text("hello")
    assert on_chat(scripted, outcome.replace("{0}", "chat.open(crypto.randomUUID())")) == "AbortError"


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
