"""What the core uses of libraries that they don't document: each name stands here with its reason.

Speed is no reason: what patches a library for speed is in the part `fast` (docs/decisions.md, "What patches libraries
is a part").
"""

import ast
import re
from collections.abc import Collection, Iterator

from conftest import ENGINE

NO_CORE = {"contrib", "migrations", "testing"}
LIBRARIES = ("ag_ui", "anyio", "asgiref", "daphne", "django", "httpx", "openai", "pydantic", "pydantic_ai", "twisted")
# What Django and Python document, though it begins with an underscore.
DOCUMENTED = {"_meta", "_default_manager", "_base_manager", "_fields", "_asdict"}

STREAMS = "A run survives what a provider sends, and the thread says the same as the stream."
THREADS = "A request that waits for long gives back its thread, and a query in a test sees the test's rows."
REFUSALS = "A gateway's error with the status of a success is an error, with the words of the gateway."
IMAGES = "A response that is too large, such as one with an endless image, is stopped before it fills the memory."
REASONS = {
    ("agents/model_failures.py", "_api_client"): IMAGES,
    ("agents/model_failures.py", "_async_httpx_client"): IMAGES,
    ("agents/model_failures.py", "_client"): REFUSALS,
    ("agents/model_failures.py", "_content"): REFUSALS,
    ("agents/model_streams.py", "_get_event_iterator"): STREAMS,
    ("agents/model_streams.py", "_parts"): STREAMS,
    ("agents/model_streams.py", "_parts_manager"): STREAMS,
    ("blocking/executor.py", "AsyncToSync.loop_thread_executors"): THREADS,
    ("blocking/executor.py", "SyncToAsync.context_to_thread_executor"): THREADS,
    ("blocking/executor.py", "SyncToAsync.thread_sensitive_context"): THREADS,
    ("events/join_deltas.py", "_get_event_iterator"): "A thousand deltas a second stop no other stream.",
}


def is_private(name: object) -> bool:
    return isinstance(name, str) and bool(re.fullmatch(r"_[a-z]\w*", name)) and name not in DOCUMENTED


def root(node: ast.AST) -> str:
    """The first name of `a.b.c`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def own_names(tree: ast.Module) -> set[str]:
    """The private names that a module gives to its own functions, classes and fields."""
    names = {getattr(node, "name", "") for node in ast.walk(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self":
            names.add(node.attr)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


def foreign_names(text: str, own: Collection[str] = ()) -> Iterator[str]:
    """What a module uses of libraries that they don't document, and what it replaces in them.

    `own` are names that other modules of its room give.
    """
    tree = ast.parse(text)
    own, imported = own_names(tree).union(own), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
            if any(module.split(".")[0] in LIBRARIES for module in modules):
                imported |= {(one.asname or one.name).split(".")[0] for one in node.names}
                words = [word for name in (*modules, *(one.name for one in node.names)) for word in name.split(".")]
                yield from filter(is_private, words)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in own:
            yield node.attr
        elif isinstance(node, ast.Constant) and is_private(node.value) and node.value not in own:
            yield str(node.value)
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.Delete):
            targets = [node.target] if isinstance(node, ast.AugAssign) else node.targets
            yield from (ast.unparse(one) for one in targets if isinstance(one, ast.Attribute) and root(one) in imported)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "setattr", "delattr", "hasattr"):
            name = node.args[1]
            is_named = isinstance(name, ast.Constant) and not is_private(name.value)
            if root(node.args[0]) in imported and is_named and ast.unparse(node.args[0]) != "settings":
                yield f"{ast.unparse(node.args[0])}.{ast.literal_eval(name)}"


def found_in_core() -> Iterator[tuple[str, str]]:
    """The place and the name of each, in all rooms of the core."""
    for room in (path for path in ENGINE.iterdir() if path.name not in NO_CORE):
        texts = {path: path.read_text() for path in [*room.rglob("*.py"), room] if path.suffix == ".py"}
        own = {name for text in texts.values() for name in own_names(ast.parse(text))}
        for path, text in texts.items():
            yield from ((str(path.relative_to(ENGINE)), name) for name in foreign_names(text, own))


def test_core_uses_no_private_name_without_a_reason():
    # The base of our stores looks for the methods that a store of pydantic-ai's own kind has.
    known = {("stores/base.py", name) for name in ("_fetch", "_remove", "_store")}
    assert set(found_in_core()) - known == REASONS.keys()


def test_private_imports_and_replaced_names_are_found():
    text = "from pydantic_ai._utils import gather\nfrom asgiref.sync import SyncToAsync\nSyncToAsync.executor = None\n"
    assert list(foreign_names(text)) == ["_utils", "SyncToAsync.executor"]
