"""What using the chat's page costs its main thread, measured in Chromium: for the tests and for `make bench`."""

import itertools
import re
from statistics import quantiles
from typing import Any

from playwright.sync_api import Page

TOKENS_A_SECOND = 60
FRAME_MS = 1000 / 60
# What the page loads when nothing else is to do, so that it is there without a network or on paper.
IDLE = re.compile(r"/(ready|turn-notes|queued|print|own-style)[.\w]*js$")

# An answer as it streams: every token is an event of its own.
STREAM = """
async ([tokens, perSecond]) => {
    const chat = document.querySelector("agui-chat");
    const request = chat.request;
    const encoder = new TextEncoder();
    chat.request = async function (url, init) {
        if (init.method !== "POST" || !/\\/agent\\/$/.test(url)) return request.call(this, url, init);
        const { threadId, runId } = JSON.parse(init.body);
        let number = 0;
        const body = new ReadableStream({
            start(controller) {
                const frame = (event) => `id: ${runId}:${number++}\\ndata: ${JSON.stringify(event)}\\n\\n`;
                const send = (event) => controller.enqueue(encoder.encode(frame(event)));
                send({ type: "RUN_STARTED", threadId, runId });
                send({ type: "TEXT_MESSAGE_START", messageId: "streamed", role: "assistant" });
                let next = 0;
                const timer = setInterval(() => {
                    const delta = tokens[next++];
                    if (delta) return send({ type: "TEXT_MESSAGE_CONTENT", messageId: "streamed", delta });
                    clearInterval(timer);
                    send({ type: "TEXT_MESSAGE_END", messageId: "streamed" });
                    send({ type: "RUN_FINISHED", threadId, runId });
                    controller.close();
                }, 1000 / perSecond);
            },
        });
        return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
    };
    const ended = new Promise((done) => chat.addEventListener("ag-ui-run-finished", done, { once: true }));
    chat.sendMessage("Go on");
    await ended;
    chat.request = request;
}
"""
RECORD = """
() => {
    window.recorded = { times: [], on: true };
    requestAnimationFrame(function frame(time) {
        recorded.times.push(time);
        if (recorded.on) requestAnimationFrame(frame);
    });
}
"""


def answer(paragraphs: int = 4) -> list[str]:
    """The tokens of an answer as models write them."""
    one = (
        "## Part {n}\n\nHere is **what matters**, with `code`, a [link](https://example.com/{n}) and more.\n\n"
        "- first *item* of a list\n- second item\n  - and below it\n\n| name | value |\n|---|---|\n| one | {n} |\n\n"
        "```python\ndef part(n: int) -> int:\n    return n + {n}\n```\n\n"
    )
    return re.findall(r"\s*\S{1,5}|\s+$", "".join(one.format(n=number) for number in range(paragraphs)))


def keep_long_thread(page: Page, count: int) -> None:
    """Let the server have a thread "long" of so many messages."""
    text = "".join(answer(1))
    messages = [
        {"id": f"m{number}", "role": "user", "content": f"Question {number}"}
        if number % 2 == 0
        else {"id": f"m{number}", "role": "assistant", "content": f"Answer {number}.\n\n{text}"}
        for number in range(count)
    ]
    thread = {"messages": messages, "state": {}, "pending": [], "running": False}
    page.route("**/agent/threads/long/", lambda route: route.fulfill(json=thread))


def open_thread(page: Page, count: int) -> dict[str, float]:
    """Open a stored thread of so many messages: what that took the main thread, in milliseconds."""
    keep_long_thread(page, count)
    costs = Costs(page)
    page.evaluate("document.querySelector('agui-chat').openThread('long')")
    page.get_by_text(f"Question {(count - 1) // 2 * 2}", exact=True).wait_for()
    settle(page)
    return costs.since()


def stream(page: Page, tokens: list[str]) -> dict[str, float]:
    """Stream an answer into the open thread: what that took, how many frames there were and how many were late."""
    settle(page)
    costs = Costs(page)
    page.evaluate(RECORD)
    page.evaluate(STREAM, [tokens, TOKENS_A_SECOND])
    return costs.since() | frames(page)


def idle(page: Page, seconds: float) -> dict[str, float]:
    """The same of a page on which nothing happens."""
    costs = Costs(page)
    page.evaluate(RECORD)
    page.evaluate(f"new Promise((done) => setTimeout(done, {seconds * 1000}))")
    return costs.since() | frames(page)


def frames(page: Page) -> dict[str, float]:
    times = page.evaluate("() => { recorded.on = false; return recorded.times; }")
    gaps = [after - before for before, after in itertools.pairwise(times)]
    return {
        "frames": len(gaps),
        "dropped": sum(max(0, round(gap / FRAME_MS) - 1) for gap in gaps),
        "frame_p95_ms": quantiles(gaps, n=20)[-1],
    }


def slow_down(page: Page, times: int) -> None:
    """Let the page's main thread run so many times slower, as on a cheap phone."""
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": times})


def settle(page: Page) -> None:
    """Wait until the page has drawn, and what it put off has been done."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestIdleCallback(done)))")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestIdleCallback(done)))")


class Costs:
    """What Chromium says that the page's main thread did, from now on."""

    def __init__(self, page: Page) -> None:
        self.session = page.context.new_cdp_session(page)
        # The processor's time, not the clock's: what else the machine does is not in it.
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.before = self._metrics()

    def since(self) -> dict[str, float]:
        after = self._metrics()
        spent = {name: after[name] - self.before[name] for name in after}
        return {
            "main_ms": spent["TaskDuration"] * 1000,
            "script_ms": spent["ScriptDuration"] * 1000,
            "layout_ms": (spent["LayoutDuration"] + spent["RecalcStyleDuration"]) * 1000,
            "layouts": spent["LayoutCount"],
        }

    def _metrics(self) -> dict[str, Any]:
        return {one["name"]: one["value"] for one in self.session.send("Performance.getMetrics")["metrics"]}
