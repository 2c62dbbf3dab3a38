"""Take defences out of what a server sends to one page, so that an attempt shows what they hold."""

import re
from collections.abc import Iterable

from pages import Page, Route

from escapes import RELAY, SANDBOX, Defence


def take_out(page: Page, defences: Iterable[Defence]) -> None:
    """Serve the frame and the modules of the page without these defences. Modules must be served one by one."""
    lines = [line for defence in defences for line in defence.lines]

    def changed(text: str, address: str) -> str:
        for module, old, new in lines:
            if f"/{module}" in address:
                assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times where it should once"
                text = text.replace(old, new)
        return text

    def change_frame(route: Route) -> None:
        response = route.fetch()
        headers = response.headers
        policy = dict(each.strip().split(" ", 1) for each in headers["content-security-policy"].split(";"))
        assert policy["sandbox"] == SANDBOX
        for defence in defences:
            policy |= defence.directives
        headers["content-security-policy"] = "; ".join(f"{name} {text}" for name, text in policy.items() if text)
        route.fulfill(status=response.status, headers=headers, body=changed(response.text(), f"/{RELAY}"))

    def change_module(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, body=changed(response.text(), route.request.url))

    page.route(re.compile(r"/mcp/apps/\?"), change_frame)
    page.route(re.compile(r"/agui_views/[\w-]+\.js"), change_module)
