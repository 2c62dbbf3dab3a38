# ruff: noqa: F401 - pytest runs these tests here, too, with the browser of this module
"""Apps of other MCP servers in Firefox: what they do, and how they try to break out.

What the app shows and how it looks on paper is left to Chromium, and so are attempts whose defences are out.
"""

from collections.abc import Iterator

import pytest
from pages import Browser, launch_firefox
from playwright.sync_api import Playwright
from test_browser_apps import shop, test_app_is_heard_only_for_what_it_may_ask, test_no_means_no
from test_browser_escapes import open_scene, outside, shared, test_attempt_fails

pytestmark = [pytest.mark.browser, pytest.mark.nightly]


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    yield from launch_firefox(playwright)
