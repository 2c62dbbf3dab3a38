"""Take defences out of what a server sends to one page, so that an attempt shows what they hold."""

import re
from collections.abc import Iterable

from pages import Page, Route

from escapes import Defence

SANDBOX = "allow-scripts"
EVERYTHING = "* data: blob: 'unsafe-inline' 'unsafe-eval'"
RELAY, PAGE_FRAME = "relay.js", "app-frame.js"


def take_out(page: Page, defences: Iterable[Defence]) -> None:
    """Serve the frame and the modules of the page without these defences. Modules must be served one by one."""
    defences = tuple(defences)

    def change_frame(route: Route) -> None:
        response = route.fetch()
        html, headers = response.text(), response.headers
        for defence in defences:
            html = changed_frame(html, defence)
            headers["content-security-policy"] = changed_policy(headers["content-security-policy"], defence)
        route.fulfill(status=response.status, headers=headers, body=html)

    def change_module(route: Route) -> None:
        response = route.fetch()
        text = response.text()
        for defence in defences:
            for module, old, new in [*defence.lines, *lines_of(defence)]:
                if f"/{module}" in route.request.url:
                    text = replaced(text, old, new)
        route.fulfill(response=response, body=text)

    page.route(re.compile(r"/mcp/apps/\?"), change_frame)
    page.route(re.compile(r"/agui_views/[\w-]+\.js"), change_module)


def changed_policy(header: str, defence: Defence) -> str:
    policy = dict(each.strip().split(" ", 1) for each in header.split(";"))
    policy |= dict.fromkeys(defence.directives, EVERYTHING)
    policy["sandbox"] += f" {defence.token}"
    if defence.no_sandbox:
        del policy["sandbox"]
    return "; ".join(f"{name} {value}" for name, value in policy.items())


def changed_frame(html: str, defence: Defence) -> str:
    """Change the outer frame's document: the inner frame, and the script between app and page."""
    for module, old, new in defence.lines:
        if module == RELAY:
            html = replaced(html, old, new)
    if defence.token:
        html = replaced(html, f'sandbox="{SANDBOX}"', f'sandbox="{SANDBOX} {defence.token}"')
    if defence.no_sandbox:
        html = replaced(html, f'sandbox="{SANDBOX}"', "")
    if defence.permission:
        html = replaced(html, "<iframe ", f'<iframe allow="{defence.permission} *" ')
    return html


def lines_of(defence: Defence) -> list[tuple[str, str, str]]:
    """What the page's own frame has of a defence."""
    lines = []
    if defence.token:
        lines.append((PAGE_FRAME, f'sandbox: "{SANDBOX}"', f'sandbox: "{SANDBOX} {defence.token}"'))
    if defence.no_sandbox:
        lines.append((PAGE_FRAME, f'sandbox: "{SANDBOX}",', ""))
    if defence.permission:
        lines.append((PAGE_FRAME, 'allow: ""', f'allow: "{defence.permission} *"'))
    return lines


def replaced(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times where it should once"
    return text.replace(old, new)
