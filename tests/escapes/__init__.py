"""How apps of other MCP servers try to break out of their frame, and what holds each attempt.

Each attempt is a script that the app runs. It fails as long as its defences stand, and succeeds once a test has taken
them out: tests/test_browser_escapes.py shows both. What the server holds is in engine/tests/test_mcp_apps.py.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hosting import shown
from outside import Outside
from pages import Page, new_chat
from playwright.sync_api import Frame, Response

RELAY = "relay.js"  # the document of the outer frame: its script, and the inner frame
FRAME = "app-frame.js"  # the page's own frame
SANDBOX = "allow-scripts"


@dataclass(frozen=True)
class Defence:
    """What holds attempts back, and how to take it out of what a server of tests sends."""

    says: str
    lines: tuple[tuple[str, str, str], ...] = ()
    """A module of the page (or the script of the outer frame), a line of it, and what to put there."""
    directives: Mapping[str, str] = field(default_factory=dict)
    """What to put into the frame's policy."""


def token(name: str) -> Defence:
    """A sandbox stands at three places: the page's frame, the inner frame, and the policy."""
    tokens = f"{SANDBOX} {name}"
    inner = (RELAY, f'sandbox="{SANDBOX}"', f'sandbox="{tokens}"')
    outer = (FRAME, f'sandbox: "{SANDBOX}"', f'sandbox: "{tokens}"')
    return Defence(f"no `{name}` in the sandboxes", (inner, outer), {"sandbox": tokens})


def policy(*directives: str) -> Defence:
    everything = dict.fromkeys(directives, "* data: blob: 'unsafe-inline' 'unsafe-eval'")
    return Defence(f"{', '.join(directives)} of the frame's policy", directives=everything)


def line(says: str, module: str, old: str, new: str) -> Defence:
    return Defence(f"{module}: {says}", ((module, old, new),))


def permission(name: str) -> Defence:
    inner = (RELAY, "<iframe ", f'<iframe allow="{name} *" ')
    outer = (FRAME, 'allow: ""', f'allow: "{name} *"')
    return Defence(f"no `{name}` in `allow`", (inner, outer))


@dataclass
class Scene:
    """An app on a page, and what has happened since an attempt began."""

    page: Page
    app: Frame
    outside: Outside
    name: str = ""
    result: str = ""
    responses: list[str] = field(default_factory=list)
    is_spoiled: bool = False
    seen: set[str] = field(default_factory=set)
    """The kinds of windows that have opened: popup, dialog, download."""

    def watch(self) -> None:
        def respond(response: Response) -> None:
            # Firefox also reports requests that it has refused. They have no response.
            self.responses.append(response.url)

        self.page.context.on("response", respond)
        self.page.context.on("page", lambda page: self.seen.add("popup"))
        self.page.on("dialog", lambda dialog: (self.seen.add("dialog"), dialog.dismiss()))
        self.page.on("download", lambda download: self.seen.add("download"))

    def show_again(self) -> None:
        """Begin a new conversation in the same page."""
        new_chat(self.page)
        self.app = shown(self.page)
        self.is_spoiled = False

    def begin(self, name: str) -> None:
        self.name, self.result = name, ""
        self.responses.clear()
        self.page.evaluate("posted.length = 0")
        self.seen.clear()

    @property
    def question(self):
        return self.page.locator(".app-asks [role=group]")

    @property
    def frame(self):
        return self.page.locator(".activity iframe").last


Proof = Callable[[Scene], Any]


def returned(scene: Scene) -> bool:
    return scene.result == "true"


def arrived(scene: Scene) -> bool:
    """Something has come to the machine outside."""
    return any(scene.name in path for path in scene.outside.paths)


def answered(scene: Scene) -> bool:
    """The site has answered a request that only the app sends."""
    return any(scene.name in url for url in scene.responses)


def happened(kind: str) -> Proof:
    return lambda scene: kind in scene.seen


def posted(body: Mapping[str, Any]) -> Proof:
    """The page has asked its server for this, in the app's name."""
    return lambda scene: any(body.items() <= sent.items() for sent in scene.page.evaluate("posted"))


@dataclass(frozen=True)
class Attempt:
    name: str
    script: str
    """An expression. OUT is an address outside, SITE one of the site; both have the attempt's name."""
    defences: tuple[Defence, ...]
    proof: Proof = returned
    prepare: Callable[[Scene], object] | None = None
    spoils: bool = False
    """Even if it fails, the app is gone or the page asks something: the next attempt gets a new app."""
    only: str = ""
    """The browser in which it can succeed; in others, the browser itself holds it."""
    gap: str = ""
    """The browser in which nothing holds it. mcp-apps.md of the manual has these gaps."""


def attempt(name: str, script: str, *defences: Defence, **more: Any) -> Attempt:
    return Attempt(name, script, defences, **more)
