"""The form of an approval gives back what nobody touched: with the schemas and values that pydantic makes."""

import json
import subprocess
from pathlib import Path

import pytest
from conftest import ENGINE, ROOT
from daily import at_night
from pages import Browser, Page, Route

pytestmark = pytest.mark.browser

STATIC = ENGINE / "static/agui"
CASES = 400

# Builds the form of a case, reads it untouched, then touches one of its fields and reads it again.
TRY = """
async (cases) => {
    const { answerForm } = await import("/agui/approvals/answer-form.js");
    const { parseExact } = await import("/agui/json/exact.js");
    const { STRINGS } = await import("/agui/words/strings.js");
    const isObject = (one) => one !== null && typeof one === "object" && !one.source;
    const differences = (one, other, path = []) => {
        if (JSON.stringify(one) === JSON.stringify(other)) return [];
        const both = isObject(one) && isObject(other) && Array.isArray(one) === Array.isArray(other);
        if (!both || (Array.isArray(one) && one.length !== other.length)) return [{ path, from: one, to: other }];
        return [...new Set([...Object.keys(one), ...Object.keys(other)])].flatMap((key) => {
            const [before, after] = [one, other].map((side) => (Object.hasOwn(side, key) ? side[key] : undefined));
            return differences(before, after, [...path, key]);
        });
    };
    const alternatives = ".field:has(> .alternative) > .field select, .field:has(> .alternative) > label select";
    const touch = (control) => {
        if (control.type === "checkbox" || control.type === "radio") return control.click();
        if (control.tagName === "SELECT") {
            control.selectedIndex = (control.selectedIndex + 1) % control.options.length;
        } else if (control.type === "number") control.value = control.value === "7" ? "8" : "7";
        else if (control.type === "date") control.value = "2031-02-03";
        else if (control.type === "time") control.value = "04:05";
        else if (control.type === "datetime-local") control.value = `2031-02-03${control.value.slice(10) || "T04:05"}`;
        else control.value += "x";
        control.dispatchEvent(new Event("input", { bubbles: true }));
        control.dispatchEvent(new Event("change", { bubbles: true }));
    };
    const mayTouch = (control) => {
        const isNamed = control.matches(".pair > .field:first-child > label > input") || control.matches(alternatives);
        return !isNamed && control.checkVisibility() && !control.matches(":disabled, .json");
    };
    return cases.map(({ schema, given }, number) => {
        const form = document.createElement("form");
        const start = parseExact(given);
        const { element, read } = answerForm(schema, STRINGS, start);
        form.append(element);
        document.body.replaceChildren(form);
        const json = [...form.querySelectorAll(".json")].length;
        const told = { number, untouched: JSON.stringify(read()), isValid: form.checkValidity(), json };
        const controls = [...form.elements].filter((one) => one.matches("input, select, textarea") && mayTouch(one));
        const control = controls[(number * 7) % controls.length];
        if (!control) return told;
        const before = control.value;
        const wasChecked = control.type === "radio" && control.checked;
        touch(control);
        // A choice of nothing, or of what was chosen, changes nothing.
        const isNothing = control.tagName === "SELECT" && ["", before].includes(control.value);
        const changes = wasChecked || isNothing ? null : differences(start, read());
        return { ...told, type: control.type, before, after: control.value, changes };
    });
}
"""


def serve_static(route: Route) -> None:
    path = STATIC / route.request.url.split("/agui/", 1)[-1]
    if path.is_file():
        route.fulfill(path=path, content_type="text/javascript")
    else:
        route.fulfill(content_type="text/html", body="<!doctype html><title>Forms</title>")


@pytest.fixture
def forms(browser: Browser):
    """A page far from UTC, with nothing on it but the modules of the element."""
    context = browser.new_context(timezone_id="America/New_York")
    page = context.new_page()
    page.route("**/*", serve_static)
    page.goto("http://forms.test/")
    yield page
    context.close()


def drawn(python: Path, seed: int) -> list[dict]:
    script = ROOT / "tests/form_cases.py"
    done = subprocess.run([python, script, str(seed), str(CASES)], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("seed", [0, *at_night(1, 2)])
def test_what_is_not_touched_comes_back_byte_for_byte(forms: Page, environment: Path, seed: int):
    cases = drawn(environment / "bin/python", seed)
    tried = forms.evaluate(TRY, cases)
    for case, told in zip(cases, tried, strict=True):
        assert told["isValid"], case
        assert told["untouched"] == case["given"], case
    touched = [told for told in tried if told.get("changes") is not None]
    assert len(touched) > CASES / 2
    for told in touched:
        assert len(told["changes"]) == 1, (cases[told["number"]], told)
        [change] = told["changes"]
        texts = [change.get("from"), change.get("to")]
        if told["type"] in ("text", "textarea") and all(isinstance(text, str) for text in texts):
            assert texts[1] == texts[0] + "x", (cases[told["number"]], told)
    # Nearly all of it has inputs of its own.
    assert sum(told["json"] > 0 for told in tried) < CASES / 4
