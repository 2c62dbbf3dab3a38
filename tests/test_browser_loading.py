"""What the page loads and when, as developers see it: each module is a file of its own."""

import re
from collections.abc import Callable

import pytest
from page_events import answer_with, asking, begun_text, failed, question
from pages import PHONE, Page, asked, drawn, expect, finished, first, hear, hold, message_box, open_stream, say, sign_in
from servers import LiveProject
from test_browser_speed import loaded, parted, wait_for_idle_modules, weigh

pytestmark = pytest.mark.browser


# Where the page's own words and the input are, or the place that is kept for it.
PLACES = """() => {
    const chat = document.querySelector("agui-chat");
    const words = [...chat.querySelectorAll("h1, .avatar")].map((element) => element.getBoundingClientRect());
    return words.flatMap(({ x, y, width, height }) => [x, y, width, height]).map(Math.round);
}"""


@pytest.fixture
def chat(new_page: Callable[..., Page], live_project: LiveProject) -> Page:
    return sign_in(new_page(live_project.url), live_project)


def test_first_load_in_development_is_the_element_and_what_it_imports(new_page, live_project):
    page = new_page()
    responses = loaded(page)
    page.goto(live_project.url)
    sign_in(page, live_project)
    wait_for_idle_modules(page, responses)  # a slow machine may have them before the page itself
    page.wait_for_load_state("networkidle")
    weights, _ = parted(weigh(responses))
    static = live_project.path / "agui/static"
    # What the page names, and what that imports.
    imported = [static / "agui/agui-chat.js", static / "agui/page/theme.js"]
    needed = set(imported)
    while imported:
        module = imported.pop()
        for address in re.findall(r'^import .* from "(.*)";$', module.read_text(), re.MULTILINE):
            if (path := (module.parent / address).resolve()) not in needed:
                needed.add(path)
                imported.append(path)
    assert {static / name for name in weights if name.endswith(".js") and name.startswith("agui/")} == needed


def test_page_is_painted_before_its_script_and_says_if_that_never_comes(new_page, live_project):
    state = sign_in(new_page(live_project.url), live_project).context.storage_state()
    for window in ({}, PHONE):
        page = new_page(storage_state=state, **window)
        late = page.get_by_text("The chat could not be loaded.")
        script, style = hold(page, "**/agui-chat.js"), hold(page, "**/agui-chat.css")
        page.goto(live_project.url, wait_until="commit")
        first(page, script).continue_()
        first(page, style)  # The element is known, and can't be drawn yet.
        drawn(page)
        expect(page.get_by_role("heading", name="My Assistant")).to_be_visible()
        kept = page.evaluate(PLACES)
        style[0].continue_()
        expect(message_box(page)).to_be_visible()
        assert page.evaluate(PLACES) == kept
        page.unroute_all()
        page.route("**/agui-chat.js", lambda route: route.abort())
        page.reload()
        assert page.evaluate(PLACES) == kept
        expect(late).to_be_hidden()
        page.evaluate("document.getAnimations().forEach((animation) => animation.finish())")  # as if time went by
        expect(late).to_be_in_viewport()
        page.unroute_all()
        page.get_by_role("link", name="Reload the page").click()
        expect(message_box(page)).to_be_visible()
        expect(late).to_be_hidden()
    page = new_page(live_project.url, storage_state=state, java_script_enabled=False)
    expect(page.locator("noscript p")).to_have_text("The chat needs JavaScript.")
    top = page.locator("h1").bounding_box()
    assert page.locator("noscript p").bounding_box()["y"] > top["y"] + top["height"]
    expect(page.get_by_text("The chat could not be loaded.")).to_be_hidden()


def test_question_has_the_focus_although_its_place_comes_late(chat, live_project):
    for late, fields in (("tools/card", {"toolCallId": "c"}), ("approvals/standing-questions", {})):
        chat.goto(live_project.url)
        chat.evaluate("async () => void (await import('/static/agui/approvals/question.js'))")
        held = hold(chat, f"**/{late}.js")
        answer_with(chat, asking(question("q", **fields)))
        say(chat, "hello")
        expect(chat.locator(".composer")).to_have_attribute("data-status", "waiting")
        drawn(chat)
        first(chat, held).continue_()
        expect(chat.get_by_role("group", name="Question q?")).to_be_focused()
        chat.unroute(f"**/{late}.js")


def test_what_tells_of_a_lost_network_comes_before_the_focus_even_if_the_style_was_late(chat: Page):
    """A chat without its style is hidden, but only a collapsed one waits for the focus."""
    held = hold(chat, "**/agui-chat.css")
    chat.clock.install()
    chat.reload(wait_until="commit")
    style = first(chat, held)
    chat.clock.fast_forward("01:00")
    chat.evaluate("() => import('/static/agui/page/ready.js')")  # if the page has asked for it, it has it now
    style.continue_()
    expect(message_box(chat)).to_be_visible()
    with chat.expect_response("**/turn-notes.js"):
        chat.clock.fast_forward("01:00")


SHOW = """async (text) => {
    const { loadMarkdown, MarkdownView } = await import("/static/agui/markdown/view.js");
    await loadMarkdown(() => import("/static/agui/messages/reading.js"));
    const view = new MarkdownView({ copy: "Copy", copied: "Copied" });
    view.element.classList.add("shown");
    document.body.append(view.element);
    view.update(text);
}"""


def test_rare_names_are_loaded_when_a_text_has_one_and_a_text_is_plain_without_what_reads_markdown(chat):
    names = asked(chat, "entities")
    hear(chat, "say &amp; and &lt;")
    assert names == []
    chat.evaluate(SHOW, "Gr&uuml;&szlig;e &rarr; &nosuchname; `&uuml;`")
    expect(chat.locator(".shown")).to_have_text("Grüße → &nosuchname; &uuml;")
    assert len(names) == 1
    chat.route("**/markdown/nodes*.js*", lambda route: route.abort())
    chat.reload()
    hear(chat, "list tasks")
    expect(chat.locator(".prose.plain").first).to_contain_text("`list_tasks`")
    expect(chat.locator(".prose code")).to_have_count(0)


def test_shapes_are_loaded_with_the_first_text_that_has_their_signs(chat):
    names = asked(chat, "markdown/shapes.js")
    strong = chat.locator(".prose strong")
    push = open_stream(chat)
    push(*begun_text("“**plain**” — it’s <b>bold</b> 👍🏽\n\n"))  # noqa: RUF001 - as models write
    expect(strong).to_have_text("plain")
    assert names == []
    # A growing text is read again when they have come, and so is the part of it that was finished.
    for delta in ("**今天。**很好\n\n", "Next $x_1$ and **明天。**也"):
        push(begun_text(delta)[1])
    expect(strong).to_have_text(["plain", "今天。", "明天。"])
    expect(chat.locator(".prose math")).to_have_count(1)
    assert len(names) == 1
    # An answer that fails before its end shows no half marks, and loses no words.
    push(begun_text("是 **很 [长](http://e")[1], failed("It broke."))
    finished(chat)
    expect(chat.locator(".prose p").last).to_have_text(re.compile(r"是 \*\*很 \[长\]\(http://e$"))
    # Without them a text is as CommonMark reads it, and the next text tries again.
    chat.route("**/markdown/shapes.js*", lambda route: route.abort())
    chat.reload()
    with chat.expect_event("requestfailed"):
        chat.evaluate(SHOW, "# 明天\n\n**后天。**呢")
    shown = chat.locator(".shown")
    expect(shown.locator("h1")).to_have_text("明天")
    expect(shown.locator("p")).to_have_text("**后天。**呢")
    chat.unroute("**/markdown/shapes.js*")
    chat.evaluate(SHOW, "**好的。**呢")
    expect(shown.last.locator("strong")).to_have_text("好的。")
