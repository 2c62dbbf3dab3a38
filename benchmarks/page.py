"""What the chat's page weighs and costs, beside its peers: `make bench`."""

import argparse
import gzip
import importlib.util
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

from harness import PROJECT, SETTINGS, print_table, ratio  # which puts the tests' modules on the path
from page_costs import answer, idle, open_thread, settle, slow_down, stream
from playwright.sync_api import Browser, Page, sync_playwright
from servers import LiveProject, serve

FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run"]
MESSAGES = 10_000
SLOWDOWN = 4


def chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
    return next(filter(None, map(shutil.which, names)), None)


def gzipped(path: Path) -> int:
    return len(gzip.compress(path.read_bytes(), 9))


def peer_bytes() -> int | None:
    """The bundle of django-ag-ui's web component, as its author's package has it."""
    spec = importlib.util.find_spec("django_admin_agent")
    if spec is None or spec.origin is None:
        return None
    return sum(gzipped(path) for path in Path(spec.origin).parent.rglob("static/**/*.bundle.js")) or None


def client_bytes(directory: Path) -> int | None:
    """@ag-ui/client alone, as esbuild bundles and minifies it; None without npm."""
    if not shutil.which("npm"):
        return None
    packages = ["@ag-ui/client@1.0.0", "esbuild"]
    bundle = directory / "client.js"
    (directory / "entry.js").write_text('export * from "@ag-ui/client";\n')
    install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--no-package-lock", *packages]
    build = ["npx", "esbuild", "entry.js", "--bundle", "--minify", "--format=esm", f"--outfile={bundle}"]
    for command in (install, build):
        if subprocess.run(command, cwd=directory, capture_output=True).returncode:
            return None
    return gzipped(bundle)


def open_page(browser: Browser, live: LiveProject, weights: dict[str, int] | None = None) -> Page:
    page = browser.new_context(viewport={"width": 1200, "height": 800}).new_page()
    if weights is not None:
        page.on("response", lambda response: weigh(response, weights))
    page.goto(live.url)
    page.get_by_label("Username").fill(live.username)
    page.get_by_label("Password").fill(live.password)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("textbox", name="Your message").wait_for()
    page.wait_for_load_state("networkidle")
    settle(page)
    return page


def weigh(response, weights: dict[str, int]) -> None:
    if response.ok and (found := re.search(r"/static/(agui/.+)", response.url)):
        weights[found[1]] = len(gzip.compress(response.body(), 9))


def print_weights(browser: Browser, live: LiveProject) -> None:
    weights: dict[str, int] = {}
    page = open_page(browser, live, weights)
    first = sum(weights.values())
    stream(page, answer(1))
    page.get_by_role("textbox", name="Your message").fill("list tasks")
    page.keyboard.press("Enter")
    page.locator(".tool").first.wait_for(state="attached")  # The page draws this tool itself.
    page.wait_for_load_state("networkidle")
    used = sum(weights.values())
    page.context.close()
    with tempfile.TemporaryDirectory() as directory:
        peers = {"django-ag-ui, its component": peer_bytes(), "@ag-ui/client alone": client_bytes(Path(directory))}
    rows: list[list[object]] = [["", "bytes", "ratio"], ["this template, first load", first, f"{first / used:.2f}"]]
    rows += [["this template, in use, with coloured code", used, "1.00"]]
    rows += [[name, size or "-", f"{size / used:.2f}" if size else "-"] for name, size in peers.items()]
    print_table("What the page loads for the chat, gzipped", rows)


def print_costs(browser: Browser, live: LiveProject, rounds: int) -> None:
    kinds = ("an empty page", "a new thread", f"{MESSAGES} messages")
    opened: dict[str, list[float]] = {kinds[1]: [], kinds[2]: []}
    main: dict[str, list[float]] = {kind: [] for kind in kinds}
    dropped: dict[str, list[float]] = {kind: [] for kind in kinds}
    frames: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(rounds):
        for kind, count in zip(kinds, (0, 2, MESSAGES), strict=True):
            page = open_page(browser, live)
            if count:
                opened[kind].append(open_thread(page, count)["main_ms"])
            started = time.monotonic()
            cost = stream(page, answer(3)) if count else idle(page, 5)
            main[kind].append(cost["main_ms"] / (time.monotonic() - started))
            dropped[kind].append(cost["dropped"] / max(1, cost["frames"]) * 100)
            slow_down(page, SLOWDOWN)
            slow = stream(page, answer(3)) if count else idle(page, 5)
            frames[kind].append(slow["frame_p95_ms"])
            page.context.close()
    rows: list[list[object]] = [["thread", "ms", "ratio"]]
    rows += [[kind, median(times), ratio(times, opened[kinds[1]])] for kind, times in opened.items()]
    print_table("Opening a stored thread, milliseconds of the main thread", rows)
    rows = [["", "ms of the main thread a second", "ratio", "frames dropped, %"]]
    rows += [[kind, median(main[kind]), ratio(main[kind], main[kinds[0]]), median(dropped[kind])] for kind in kinds]
    print_table("An answer of 60 tokens a second", rows)
    rows = [["", "ms between frames, 95th percentile", "ratio"]]
    rows += [[kind, median(frames[kind]), ratio(frames[kind], frames[kinds[0]])] for kind in kinds]
    print_table(f"The same on a processor {SLOWDOWN} times slower", rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: enough to see that it runs")
    rounds = 1 if parser.parse_args().quick else 5
    executable = chromium()
    if executable is None:
        print("\nThe page is left out: Chromium was not found.")
        return
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        settings = SETTINGS | {"DATABASE_URL": f"sqlite:///{directory}/page.sqlite3", "AGENT_MODEL": "demo"}
        (PROJECT / ".first_admin").unlink(missing_ok=True)
        LiveProject(PROJECT, 0, "", "", "", settings).manage("collectstatic", "--noinput", "--verbosity", "0")
        with serve(PROJECT, **settings) as live:
            browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
            print_weights(browser, live)
            print_costs(browser, live, rounds)
            browser.close()


if __name__ == "__main__":
    main()
