"""What a page makes its own without a fork, with a real server and in a real Chromium.

What each seam promises is in tests/element/seams.test.mjs.
"""

import re

import pytest
from pages import expect, finished, new_chat, seen

pytestmark = pytest.mark.browser


# What a page's own script does.
EXTENSIONS = """chat => {
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
}"""


def test_extensions_need_no_fork(chat):
    chat.locator("agui-chat").evaluate(EXTENSIONS)
    # The view of a tool, and an avatar beside each answer; both are there again after a reload.
    seen(chat, 'add_task title="Buy milk"')
    seen(chat, 'add_task title="Buy tea"')
    tasks, faces = chat.locator("agui-chat > .my-task"), chat.locator("agui-chat > img")
    expect(tasks).to_have_text(["Added: Buy milk", "Added: Buy tea"])
    expect(faces).to_have_count(3)  # the page's own, which is not shown, and a copy for each answer
    tops = faces.evaluate_all("all => all.map((one) => one.getBoundingClientRect().top)")
    assert tops[0] == 0 < tops[1] < tops[2]
    chat.reload()
    chat.locator("agui-chat").evaluate(EXTENSIONS)
    expect(tasks).to_have_text(["Added: Buy milk", "Added: Buy tea"])
    expect(faces).to_have_count(3)
    # What the page has drawn goes with the conversation.
    new_chat(chat)
    expect(tasks).to_have_count(0)
    expect(faces).to_have_count(1)
    accent = "(panel) => getComputedStyle(panel).getPropertyValue('--_accent')"
    assert chat.locator(".panel").evaluate(accent) == "rgb(120, 0, 120)"


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
