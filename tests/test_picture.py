"""The pictures of the README: the page of a generated project, with a conversation of the demo model.

`make picture` keeps them in docs/.
"""

import os
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from pages import Page, drawn, expect, hear, message_box, sign_in
from servers import serve

SIZE = (1280, 800)
MOST_BYTES = 150_000
TASKS = {"Book a room for twelve": "workshop", "Invite the speakers": "workshop", "Renew the passport": "home"}
# The demo model chooses tools by their names and descriptions.
CONVERSATION = ["complete_task task_id=2", "List my tasks", "Delete the finished tasks"]


def png_size(data: bytes) -> tuple[int, int]:
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", data[16:24])


@pytest.mark.nightly
@pytest.mark.browser
def test_pictures_can_be_made(new_page: Callable[..., Page], bake, furnish, tmp_path: Path):
    project = bake(project_name="Team Assistant")
    furnish(project)
    with serve(project) as live:
        for title, category in TASKS.items():
            live.client(live.token).run(f'add_task title="{title}" category={category}')
        width, height = SIZE
        page = new_page(live.url, viewport={"width": width, "height": height}, reduced_motion="reduce")
        sign_in(page, live)
        for prompt in CONVERSATION:
            hear(page, prompt)
        expect(page.get_by_role("button", name="Approve")).to_be_visible()
        expect(page.locator("agui-chat table")).to_be_visible()
        page.locator("agui-chat").evaluate("chat => chat.shadowRoot?.activeElement?.blur()")
        message_box(page).blur()
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            drawn(page)
            path = Path(os.environ.get("PICTURE") or tmp_path) / f"screenshot-{scheme}.png"
            page.screenshot(path=path, animations="disabled", caret="hide")
            data = path.read_bytes()
            assert png_size(data) == SIZE
            assert len(data) < MOST_BYTES
