"""The pages on which users decide lie in the site's own frame, as make-it-yours.md says."""

import re

import pytest
from django.template.loader import render_to_string

from tests import pages

# What a site has for all its pages, with the names of the blocks in each example.
SITE = "<title>{{% block {title} %}}{{% endblock %}} - Shop</title><main>{{% block {content} %}}{{% endblock %}}</main>"
SITES = {
    "base.html": SITE.format(title="title", content="content"),
    "layout.html": SITE.format(title="head_title", content="main"),
}
EXAMPLES = re.findall(
    r"`assistant/templates/agui/base\.html`:\n\n```html\n(.+?)```", pages.read("make-it-yours.md"), re.DOTALL
)
PAGES = {
    "agui_mcp/accounts.html": "Your accounts at other services",
    "agui_mcp/approval.html": "Approval",
    "agui_mcp/approvals.html": "Approvals",
    "agui_notifications/page.html": "Notifications",
    "agui_oauth/connections.html": "Connected apps",
    "agui_oauth/consent.html": "Connect an app",
    "agui_oauth/refused.html": "This app can't be connected",
}


@pytest.fixture(params=EXAMPLES, ids=range(len(EXAMPLES)))
def site(request: pytest.FixtureRequest, settings) -> None:
    """A site with a frame of its own, by one of the manual's examples."""
    templates = SITES | {"agui/base.html": request.param}
    loaders = [("django.template.loaders.locmem.Loader", templates), "django.template.loaders.app_directories.Loader"]
    backend = "django.template.backends.django.DjangoTemplates"
    settings.TEMPLATES = [{"BACKEND": backend, "OPTIONS": {"loaders": loaders}}]


@pytest.mark.parametrize("name", PAGES)
def test_each_page_lies_in_the_frame_of_its_site(site: None, name: str):
    page = render_to_string(name)
    assert len(EXAMPLES) == 2
    assert re.findall("<title>(.*?)</title>", page) == [f"{PAGES[name]} - Shop"]
    [main] = re.findall("<main>(.*)</main>", page, re.DOTALL)
    assert re.findall("<h1>(.*?)</h1>", main) == [PAGES[name]]
    assert 'href="/static/agui/person-page.css"' in main
