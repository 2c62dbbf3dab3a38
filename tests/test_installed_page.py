"""The page of an installed agent in Chromium, on a site with a strict Content-Security-Policy."""

from pathlib import Path

import pytest
from pages import expect, finished, message_box, say
from projects import append, replace
from servers import manage
from test_installer import PASSWORD, create_superuser, form, fresh_shop, installed, served, shop

__all__ = ["form", "fresh_shop", "shop"]
pytestmark = [pytest.mark.browser, pytest.mark.nightly]

POLICY = """
CONTENT_SECURITY_POLICY = {"DIRECTIVES": {"default-src": ["'self'"], "script-src": ["'self'"]}}
"""


def test_an_approved_change_on_a_page_with_a_strict_policy(shop: Path, new_page):
    replace(shop / "shop/settings.py", "MIDDLEWARE = [\n", "MIDDLEWARE = [\n    'csp.middleware.CSPMiddleware',\n")
    append(shop / "shop/settings.py", POLICY)
    installed(shop, "--parts", "agentify")
    manage(shop, "agentify", "auth.Group")
    create_superuser(shop)
    with served(shop) as client:
        with client.open("GET", "/assistant/") as response:
            assert "script-src 'self'" in response.headers["Content-Security-Policy"]
        page = new_page(f"http://127.0.0.1:{client.port}/assistant/")
        page.get_by_label("Username").fill("ada")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        expect(message_box(page)).to_be_visible()
        say(page, "who am I")
        expect(page.locator(".assistant .prose").last).to_contain_text("ada")
        finished(page)
        say(page, "revoke my tokens")
        page.get_by_role("button", name="Approve").click()
        expect(page.locator("agui-chat")).to_contain_text("Revoked 0 tokens")
        finished(page)
        say(page, 'create a group with name "editors"')
        expect(page.locator(".question-text").last).to_contain_text("New values:")
        # The question has a line for each value.
        assert page.locator(".question-text").last.inner_text().endswith("\nname: “editors”")
