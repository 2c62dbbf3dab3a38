"""The manual: what clients.md tells to type is run, and has to print what it says; protocol.md is compared."""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

import guide
import pytest
from cache import python_with
from conftest import MANUAL, ROOT, npm_install
from daily import by_day
from projects import execute
from servers import Client, LiveProject, free_port, run_input, running, serve
from test_clients import scripted_project  # noqa: F401

pytestmark = pytest.mark.clients

CLIENTS = ROOT / "tests/client_docs"
ADDRESS = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Block:
    """Something to run, and what it is to print; None where nothing is promised."""

    language: str
    code: str
    output: str | None

    @property
    def file(self) -> str | None:
        """The name that the first line gives."""
        found = re.match(r"(?://|#) (\S+\.\w+)\n", self.code)
        return found and found[1]


def section(heading: str, page: str = "clients.md") -> str:
    """A section of a page; "" is what comes before the first one."""
    sections = re.split(r"^## (.*)\n", (MANUAL / page).read_text(), flags=re.M)
    return dict(zip(["", *sections[1::2]], sections[::2], strict=True))[heading]


def blocks(heading: str) -> list[Block]:
    found = guide.BLOCK.findall(section(heading))
    promised = [text if language == "text" else None for language, text in [*found[1:], ("", "")]]
    both = zip(found, promised, strict=True)
    return [Block(language, code, output) for (language, code), output in both if language != "text"]


def programs(heading: str) -> list[str]:
    """The files of a section that promise an output."""
    return [block.file for block in blocks(heading) if block.file and block.output is not None]


def check_output(actual: str, promised: str) -> None:
    """Compare; "..." stands for anything on its line, and alone on a line for any lines."""
    anything = {"...\n": "(?s:.*)", "...": "[^\n]*"}
    pieces = re.split(r"(^\.\.\.\n|\.\.\.)", promised, flags=re.M)
    pattern = "".join(anything.get(piece, re.escape(piece)) for piece in pieces)
    assert re.fullmatch(pattern, actual.rstrip() + "\n"), f"Promised:\n{promised}\nPrinted:\n{actual}"


def prepare(directory: Path, live: LiveProject, headings: list[str], packages: Path | None = None) -> None:
    """Write the files of these sections, beside the packages."""
    for block in (block for heading in headings for block in blocks(heading)):
        if block.file:
            (directory / block.file).write_text(block.code.replace(ADDRESS, live.url))
    if packages:
        (directory / "node_modules").symlink_to(packages)


def run_program(heading: str, program: str, command: str | Path, directory: Path, token: str) -> None:
    """Run one of a section's programs, and compare what it prints."""
    (promised,) = [block.output for block in blocks(heading) if block.file == program]
    check_output(execute(directory, command, program, AGENT_TOKEN=token).stdout, promised)


@pytest.fixture(scope="module")
def token(live_project: LiveProject) -> str:
    """The token of a user who has nothing yet."""
    return live_project.token_of("reader_of_docs")


def installed(name: str = "") -> Path:
    """The packages of a page. Those of CopilotKit make npm search for ever without the option."""
    return npm_install(CLIENTS / name / "package.json", *(["--legacy-peer-deps"] if name else []))


# --- curl


def test_curl(live_project: LiveProject, tmp_path: Path):
    """The section's blocks are one session in a shell, which begins with the token of the page's beginning."""
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    (make_token,) = blocks("")
    session = blocks("curl")
    mark = "---8<---\n"
    script = [f"cd {live_project.path}", make_token.code, f"cd {tmp_path}"]
    for block in session:
        script += [f"printf -- '{mark}'", block.code.replace(ADDRESS, live_project.url)]
    printed = execute(tmp_path, "sh", "-eu", "-c", "\n".join(script)).stdout.split(mark)[1:]
    for block, actual in zip(session, printed, strict=True):
        assert block.output
        check_output(actual, block.output)


# --- @ag-ui/client


@pytest.mark.parametrize("package", ["@ag-ui/client", "old-client"])
@pytest.mark.parametrize("program", by_day(programs("@ag-ui/client")))
def test_ag_ui_client(program: str, package: str, live_project: LiveProject, token: str, tmp_path: Path):
    """For the present client and for the one of older pages."""
    prepare(tmp_path, live_project, ["@ag-ui/client"])
    for file in tmp_path.iterdir():
        file.write_text(file.read_text().replace('from "@ag-ui/client"', f'from "{package}"'))
    (tmp_path / "node_modules").symlink_to(installed())
    run_program("@ag-ui/client", program, "node", tmp_path, token)


# --- CopilotKit


@contextmanager
def serving_runtime(live: LiveProject, directory: Path) -> Iterator[int]:
    """The section's runtime; its port."""
    prepare(directory, live, ["@ag-ui/client", "CopilotKit"], installed("copilotkit"))
    port, program = free_port(), directory / "runtime.mjs"
    program.write_text(program.read_text().replace("listen(4000,", f"listen({port},"))
    command = ["node", program.name]
    with running(command, port, directory / "log", directory, COPILOTKIT_TELEMETRY_DISABLED="true"):
        yield port


@pytest.fixture(scope="module")
def runtime(live_project: LiveProject, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with serving_runtime(live_project, tmp_path_factory.mktemp("copilotkit")) as port:
        yield port


def ask_runtime(port: int, path: str, token: str = "", body: object = None) -> tuple[int, str]:
    """POST the body, or GET without one: (status, text)."""
    # What the page sends to the agent itself, or to CopilotKit.
    place = "" if path.startswith("agent/threads/") else "copilotkit/"
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    method, data = ("GET", None) if body is None else ("POST", json.dumps(body))
    with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request(method, f"/api/{place}{path}", data, headers)
        response = connection.getresponse()
        return response.status, response.read().decode()


@pytest.mark.nightly
def test_copilotkit_does_what_a_page_does(runtime: int, token: str, tmp_path: Path):
    (request,) = [block for block in blocks("CopilotKit") if block.language == "sh"]
    assert request.output
    script = request.code.replace("127.0.0.1:4000", f"127.0.0.1:{runtime}")
    check_output(execute(tmp_path, "sh", "-eu", "-c", script, AGENT_TOKEN=token).stdout, request.output)


@pytest.mark.nightly
@pytest.mark.parametrize("program", ["text.mjs", "tools.mjs", "approval.mjs", "state.mjs"])
def test_copilotkit_runtime_loses_nothing(
    program: str, runtime: int, live_project: LiveProject, token: str, tmp_path: Path
):
    """Its page is the older client: what that does with the agent it does with the runtime between them."""
    prepare(tmp_path, live_project, ["@ag-ui/client"], installed())
    agent = tmp_path / "agent.mjs"
    through = f"http://127.0.0.1:{runtime}/api/copilotkit/agent/default/run"
    code = agent.read_text().replace("@ag-ui/client", "old-client")
    agent.write_text(code.replace(f"{live_project.url}/agent/", through))
    run_program("@ag-ui/client", program, "node", tmp_path, token)


@pytest.mark.nightly
def test_copilotkit_runtime_tells_nobody_else(runtime: int, live_project: LiveProject, token: str):
    body = run_input("a secret")
    assert "RUN_FINISHED" in ask_runtime(runtime, "agent/default/run", token, body)[1]
    assert "a secret" in ask_runtime(runtime, "agent/default/connect", token, body)[1]
    assert "RUN_ERROR" in ask_runtime(runtime, "agent/default/run", "", run_input("hello"))[1]
    for stranger in (live_project.token, ""):
        assert ask_runtime(runtime, "agent/default/connect", stranger, body) == (200, "")
        assert ask_runtime(runtime, "threads?agentId=default", stranger)[0] == 404
        assert ask_runtime(runtime, f"threads/{body['threadId']}/messages", stranger)[0] == 404
    messages = f"agent/threads/{body['threadId']}/messages/"
    assert ask_runtime(runtime, messages, token)[0] == 200
    assert ask_runtime(runtime, messages, live_project.token)[0] == 404
    assert ask_runtime(runtime, messages)[0] == 401
    # Only these routes of the agent are passed on.
    assert ask_runtime(runtime, f"agent/threads/{body['threadId']}/", token)[0] == 404
    # The runtime's memory knows ids alone: there another user can't take one that is somebody's.
    theirs = run_input("hello", threadId=body["threadId"])
    assert ask_runtime(runtime, "agent/default/run", live_project.token, theirs)[0] == 409


@pytest.mark.nightly
def test_copilotkit_page_can_be_built(live_project: LiveProject, tmp_path: Path):
    """What it imports is there, and the file is JSX. Nothing is rendered."""
    packages = installed("copilotkit_page")
    prepare(tmp_path, live_project, ["@ag-ui/client", "CopilotKit"], packages)
    loaders = [f"--loader:.{kind}=dataurl" for kind in ("woff2", "woff", "ttf")]
    options = ["--bundle", "--outfile=out.js", "--jsx=automatic", *loaders]
    execute(tmp_path, packages / ".bin/esbuild", "app.jsx", *options)
    assert "Never mind" in (tmp_path / "out.js").read_text()


# --- Messages while the agent works

SCRIPT = 'user: script: [[{"say"'


def show_page(name: str, headings: list[str], directory: Path, live: LiveProject, **environment: str) -> list[str]:
    """Run a page of a section in Node, with a document of jsdom; the messages that it shows at the end."""
    packages = installed(name)
    prepare(directory, live, headings, packages)
    for file in (CLIENTS / "dom.mjs", CLIENTS / name / "page.jsx"):
        shutil.copy(file, directory)
    # Packages for Node and for browsers look at the document as soon as they are loaded.
    require = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"
    options = ["--bundle", "--platform=node", "--format=esm", "--jsx=automatic", "--loader:.css=empty"]
    options += ["--external:./dom.mjs", "--outfile=page.mjs", f"--banner:js=import './dom.mjs'; {require}"]
    execute(directory, packages / ".bin/esbuild", "page.jsx", *options)
    shown = execute(directory, "node", "page.mjs", AGUI_URL=live.url, AGUI_TOKEN=live.token, **environment)
    return shown.stdout.splitlines()


@pytest.mark.nightly
def test_copilotkit_page_sends_while_the_agent_works(scripted_project: LiveProject, tmp_path: Path):  # noqa: F811
    for folder in ("runtime", "page"):
        (tmp_path / folder).mkdir()
    with serving_runtime(scripted_project, tmp_path / "runtime") as port:
        headings, address = ["@ag-ui/client", "CopilotKit"], f"http://127.0.0.1:{port}"
        shown = show_page("copilotkit_page", headings, tmp_path / "page", scripted_project, RUNTIME=address)
    answer = ["assistant: first", "tool: x", "user: Only ten.", "assistant: Done."]
    assert shown == [SCRIPT, *answer, SCRIPT, "assistant: Well."]


@pytest.mark.nightly
def test_assistant_ui_page_sends_while_the_agent_works(scripted_project: LiveProject, tmp_path: Path):  # noqa: F811
    shown = show_page("assistant_ui", ["@ag-ui/client", "assistant-ui"], tmp_path, scripted_project)
    answer = ["assistant: first", "user: Only ten.", "assistant: Done."]
    assert shown == [SCRIPT, *answer, SCRIPT, "assistant: Well."]


# --- TanStack AI


@pytest.mark.nightly
@pytest.mark.parametrize("program", programs("TanStack AI"))
def test_tanstack(program: str, live_project: LiveProject, token: str, tmp_path: Path):
    prepare(tmp_path, live_project, ["TanStack AI"], installed("tanstack"))
    run_program("TanStack AI", program, "node", tmp_path, token)


@pytest.mark.nightly
def test_tanstack_features_are_as_the_table_says(scripted_project: LiveProject, tmp_path: Path):  # noqa: F811
    prepare(tmp_path, scripted_project, ["TanStack AI"], installed("tanstack"))
    for file in (CLIENTS / "dom.mjs", CLIENTS / "tanstack/features.test.mjs"):
        shutil.copy(file, tmp_path)
    server = {"AGUI_URL": scripted_project.url, "AGUI_TOKEN": scripted_project.token}
    run = execute(tmp_path, "node", "--test", "--test-reporter=tap", "features.test.mjs", **server)
    played = re.findall(r"^ok \d+ - (.*?): (.*)$", run.stdout.replace("`", ""), re.M)
    promised = [[cell.replace("`", "") for cell in row] for row in table("TanStack AI", "clients.md")]
    assert {feature: works for feature, works, *_ in promised} == {feature: works for works, feature in played}


# --- Microsoft Agent Framework


@pytest.mark.nightly
@pytest.mark.parametrize("program", programs("Microsoft Agent Framework"))
def test_microsoft_agent_framework(program: str, live_project: LiveProject, token: str, tmp_path: Path):
    microsoft = python_with("microsoft", (CLIENTS / "microsoft.txt").read_text())
    prepare(tmp_path, live_project, ["Microsoft Agent Framework"])
    run_program("Microsoft Agent Framework", program, microsoft, tmp_path, token)


# --- protocol.md


def table(heading: str, page: str = "protocol.md") -> list[list[str]]:
    """The cells of the first table of a section, without its head and without Markdown's backticks."""
    first = re.findall(r"(?:^\|.*\n)+", section(heading, page), re.M)[0]
    rows = [re.split(r"\s*\|\s*", line.strip("|\n ")) for line in first.splitlines()]
    return [[cell.strip().strip("`") for cell in row] for row in rows[2:]]


def events_in(heading: str) -> list[dict]:
    """The JSON values of a section's block."""
    (text,) = re.findall(r"```json\n(.*?)```", section(heading, "protocol.md"), re.S)
    values, decoder = [], json.JSONDecoder()
    while text := text.lstrip():
        value, end = decoder.raw_decode(text)
        values.append(value)
        text = text[end:]
    return values


def is_like(actual: object, promised: object) -> bool:
    """Whether a value is the promised one; "..." stands for any, and nobody promises timestamps."""
    if promised == "...":
        return True
    if isinstance(promised, dict) and isinstance(actual, dict):
        known = {key: value for key, value in actual.items() if key != "timestamp"}
        return known.keys() == promised.keys() and all(is_like(known[key], promised[key]) for key in promised)
    if isinstance(promised, list) and isinstance(actual, list):
        return len(actual) == len(promised) and all(map(is_like, actual, promised))
    return actual == promised


@pytest.fixture(scope="module")
def client(live_project: LiveProject, token: str) -> Iterator[Client]:
    """A client of the same project with the page's tools, served by a second process."""
    tools = live_project.path / "assistant/tools.py"
    before = tools.read_text()
    code = re.findall(r"```python\n(.*?)```", (MANUAL / "protocol.md").read_text(), re.S)
    tools.write_text("\n\n".join([before, *code]))
    try:
        with serve(live_project.path) as live:
            yield live.client(token)
    finally:
        tools.write_text(before)


def test_interrupts_are_as_shown(client: Client):
    (promised,) = events_in("Approvals and questions")
    finished = client.run("publish title=Bread and choose_day", protocolVersion="1.0")[-1]
    assert is_like(finished, promised), json.dumps(finished)


@pytest.mark.parametrize(("answer", "entry", "result"), table("Approvals and questions"))
def test_answers_are_taken_as_shown(answer: str, entry: str, result: str, client: Client):
    is_question = answer in ("the answer to a question", "not answered")
    thread = run_input("")["threadId"]
    asked = client.run("choose_day" if is_question else "publish title=Bread", threadId=thread)
    (interrupt,) = asked[-1]["outcome"]["interrupts"]
    resume = [{"interruptId": interrupt["id"], **json.loads(entry)}]
    answered = client.run("", threadId=thread, messages=[], resume=resume)
    assert [event["content"] for event in answered if event["type"] == "TOOL_CALL_RESULT"] == [result]
    assert answered[-1]["type"] == "RUN_FINISHED"


def test_progress_and_what_the_page_draws_are_as_shown(client: Client):
    stream = client.run("plan_trip city=Rome")
    types = [event["type"] for event in stream]
    between = stream[types.index("TOOL_CALL_END") + 1 : types.index("TOOL_CALL_RESULT")]
    promised = events_in("Progress")
    assert is_like(between, promised), between
    shown = [e for e in client.run("compare_trains") if e["type"] == "ACTIVITY_SNAPSHOT"]
    told = [(kind, json.loads(content)) for kind, content in table("Progress")]
    assert [(event["activityType"], event["content"]) for event in shown] == told


def test_result_tells_how_long_it_took(client: Client):
    thread = run_input("")["threadId"]
    (result,) = [e for e in client.run("list_tasks", threadId=thread) if e["type"] == "TOOL_CALL_RESULT"]
    assert result["metadata"].keys() == {"duration_ms"}
    stored = [m["metadata"] for m in client.thread(thread)["messages"] if m["role"] == "tool"]
    assert stored == [result["metadata"]]
