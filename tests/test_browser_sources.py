"""What an answer shows beside its text: its sources, in a list and in cards, and the images that were made."""

import pytest
from pages import asked, expect, hear

pytestmark = [pytest.mark.browser, pytest.mark.nightly]


def test_sources_are_listed_below_their_answer(scripted):
    hear(scripted, "When do you open?")
    for _ in range(2):
        sources = scripted.get_by_role("group").filter(has_text="3 sources")
        sources.get_by_text("3 sources").click()
        items = sources.get_by_role("listitem")
        quoted, titles = "Opening hoursWe open at nine.", ["<b>Law</b>law.example.com", "A sign"]
        expect(items).to_have_text([quoted, *titles])
        links = sources.get_by_role("link")
        expect(links).to_have_count(2)
        expect(links.first).to_have_attribute("target", "_blank")
        expect(links.first).to_have_attribute("rel", "noopener noreferrer")
        addresses = [link.get_attribute("href") for link in links.all()]
        assert addresses[0].endswith("/help/hours/")
        assert addresses[1] == "https://law.example.com/hours?a=1"
        scripted.reload()


def test_a_mark_shows_a_card_of_its_sources(scripted):
    hear(scripted, "When do you open?")
    prose = scripted.locator(".prose").last
    marks = prose.get_by_role("button")
    expect(marks).to_have_text(["[1]", "[2][1]"])
    expect(prose).to_contain_text("At nine [1], by law [2][1], not [9].")
    expect(marks.first).to_have_accessible_name("Source 1: Opening hours")
    expect(marks.last).to_have_accessible_name("Sources [2][1]: <b>Law</b> and Opening hours")
    card = scripted.get_by_role("dialog", name="Opening hours")

    # The pointer rests on a mark, moves into the card, and leaves both.
    marks.first.hover()
    expect(card).to_contain_text("We open at nine.")
    expect(marks.first).to_have_attribute("aria-expanded", "true")
    card.get_by_role("link", name="Open").hover()
    expect(card.get_by_role("link", name="Open")).to_have_attribute("rel", "noopener noreferrer")
    card.get_by_role("blockquote").hover()
    expect(card).to_be_visible()
    scripted.mouse.move(5, 5)
    expect(card).to_be_hidden()
    marks.first.hover()
    expect(card).to_be_visible()
    scripted.keyboard.press("Escape")
    expect(card).to_be_hidden()
    scripted.mouse.move(5, 5)

    # By keyboard, with several sources; on a phone, and from right to left.
    for direction, next_key in [("ltr", "ArrowRight"), ("rtl", "ArrowLeft")]:
        scripted.set_viewport_size({"width": 380, "height": 500})
        scripted.evaluate("dir => { document.documentElement.dir = dir; }", direction)
        marks.last.focus()
        scripted.keyboard.press("Enter")
        card = scripted.get_by_role("dialog", name="<b>Law</b>")
        expect(card).to_be_focused()
        expect(card).to_contain_text("1 of 2")
        expect(card).to_contain_text("law.example.com/hours")
        box = card.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 380
        scripted.keyboard.press(next_key)
        expect(scripted.get_by_role("dialog", name="Opening hours")).to_contain_text("We open at nine.")
        scripted.keyboard.press("Escape")
        expect(scripted.locator(".source-card")).to_be_hidden()
        expect(marks.last).to_be_focused()
        scripted.wait_for_function(
            "() => !document.querySelector('agui-chat').shadowRoot.querySelector(':popover-open')"
        )
        expect(marks.last).to_have_attribute("aria-expanded", "false")

    # From the card to the list, and back. A thread that is read again has the same marks.
    marks.last.click()
    scripted.get_by_role("button", name="All sources").click()
    item = scripted.get_by_role("listitem").filter(has_text="<b>Law</b>")
    expect(item).to_be_focused()
    scripted.keyboard.press("Escape")
    expect(marks.last).to_be_focused()
    scripted.reload()
    scripted.locator(".source-mark").first.click()
    expect(scripted.get_by_role("dialog", name="Opening hours")).to_be_focused()
    scripted.mouse.click(5, 300)
    expect(scripted.locator(".source-card")).to_be_hidden()


def test_images_are_shown_where_they_were_made_and_open_large(scripted):
    requests = asked(scripted, "^(data|blob):")
    hear(scripted, "Draw")
    for _ in range(2):
        links = scripted.get_by_role("list", name="Images").get_by_role("link")
        expect(links).to_have_count(3)
        names = ["A red fox", "A hen", "Image made by the agent"]
        for index, name in enumerate(names):
            expect(links.nth(index)).to_have_accessible_name(f"Open the image: {name}")
            picture = links.nth(index).locator("img")
            expect(picture).to_have_attribute("width", str(300 + index * 100))
            scripted.wait_for_function(
                "image => image.complete && image.naturalHeight === 200", arg=picture.element_handle()
            )
        places = scripted.locator(".messages > :is(.assistant, .activity):not([hidden])")
        expect(places.last).to_have_text("Here they are.")
        scripted.reload()
    assert requests == []

    links.nth(1).focus()
    scripted.keyboard.press("Enter")
    large = scripted.get_by_role("dialog", name="Images")
    picture = large.get_by_role("img")
    expect(picture).to_have_accessible_name("A hen")
    expect(large).to_contain_text("2 of 3")
    scripted.keyboard.press("ArrowRight")
    expect(picture).to_have_accessible_name("Image made by the agent")
    large.get_by_role("button", name="Next image").click()
    expect(picture).to_have_accessible_name("A red fox")
    expect(large).to_contain_text("1 of 3")
    with scripted.expect_download() as download:
        large.get_by_role("button", name="Save the image").click()
    assert download.value.suggested_filename.startswith("draw-")
    scripted.keyboard.press("Escape")
    expect(large).to_be_hidden()
    expect(links.nth(1)).to_be_focused()
    url = scripted.url
    links.first.click()
    expect(large).to_be_visible()
    scripted.go_back()
    expect(large).to_be_hidden()
    assert scripted.url == url

    # After signing out, in any tab, nobody sees them.
    links.first.click()
    expect(large).to_be_visible()
    scripted.locator("agui-chat").evaluate("chat => chat.session.hear({ kind: 'signed-out' })")
    expect(large).to_have_count(0)

    # A page whose requests have headers, and no cookies, gets the picture by them.
    scripted.route(
        "**/attachments/*/",
        lambda route: route.abort() if route.request.resource_type == "image" else route.continue_(),
    )
    scripted.goto(url)
    expect(scripted.locator(".image-link canvas")).to_have_count(3)
