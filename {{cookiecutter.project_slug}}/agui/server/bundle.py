"""The element's modules for production: modules that are always loaded together become one file.

Each module keeps its own scope, and all modules that follow it in the file know its exports.
Modules that are loaded on demand find the exports that they share with the page in a table.
"""

import logging
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping

IMPORT = re.compile(r"""^import \{ (\w+(?:, \w+)*) \} from "\./([\w-]+\.js)";\n""", re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) (\w+))", re.MULTILINE)
# An import or export that the two patterns above don't know.
UNKNOWN = re.compile(r"^\s*(?:import\b(?!\s*[(.])|export\b).*", re.MULTILINE)
TABLE = 'const agui = globalThis[Symbol.for("agui")]'

logger = logging.getLogger("agui.static_files")

Sources = Mapping[str, str]
"""The text of each module, by the name of its file."""
Imports = Mapping[str, list[str]]
"""The modules that each module imports."""
Names = dict[str, set[str]]
"""Exported names, by module."""


def flatten(sources: Sources, entry: str) -> dict[str, str]:
    """Join modules into the entry and the modules on demand.

    A module that the entry imports also stays as it is, beside it. The result is empty if a module
    has an import or export that these few patterns don't know, or if two modules export one name.
    """
    problem = find_problem(sources)
    if problem:
        name, statement = problem
        logger.warning(
            "%s: %r can't be joined, so all modules of the chat are served one by one",
            name,
            statement,
        )
        return {}
    imports: dict[str, list[str]] = {}
    for name, text in sources.items():
        imports[name] = [match[2] for match in IMPORT.finditer(text)]
    page = in_order(imports, entry)
    # A module on demand is joined with the modules that only it imports.
    on_demand: dict[str, list[str]] = {}
    for name in sources:
        if name not in page:
            on_demand[name] = own_modules(imports, name, page)
    shared = shared_names(sources, page, on_demand)
    table = ""
    for name, names in sorted(shared.items()):
        table += f'agui["{name}"] = {listed(names)};\n'
    files = {entry: f"{TABLE} ??= {{}};\n" + scoped(sources, page) + table}
    for name, modules in on_demand.items():
        files[name] = head(imported_names(sources, modules), shared) + scoped(sources, modules)
    return files


def find_problem(sources: Sources) -> tuple[str, str] | None:
    """Find a module that can't be joined, and the statement that is the reason."""
    counts: Counter[str] = Counter()
    for text in sources.values():
        counts.update(exports(text))
    for name, text in sources.items():
        unknown = UNKNOWN.search(EXPORT.sub("", IMPORT.sub("", text)))
        if unknown:
            return name, unknown[0]
        for exported in exports(text):
            if counts[exported] > 1:
                return name, f"export {exported}"
    return None


def exports(text: str) -> list[str]:
    return [match[1] for match in EXPORT.finditer(text)]


def in_order(imports: Imports, entry: str) -> list[str]:
    """List a module and all that it imports, each after its own imports."""
    ordered: list[str] = []

    def visit(name: str) -> None:
        for imported in imports.get(name, []):
            if imported not in ordered:
                visit(imported)
        ordered.append(name)

    visit(entry)
    return ordered


def own_modules(imports: Imports, name: str, page: list[str]) -> list[str]:
    """List a module on demand, and the modules that only it imports."""
    own = {name}
    candidates = [module for module in in_order(imports, name) if module not in page]
    for module in reversed(candidates):
        importers = {other for other, imported in imports.items() if module in imported}
        if importers <= own:
            own.add(module)
    return [module for module in candidates if module in own]


def imported_names(sources: Sources, modules: list[str]) -> Names:
    """Collect the names that some modules import from all others."""
    imported: Names = defaultdict(set)
    for module in modules:
        for match in IMPORT.finditer(sources[module]):
            if match[2] not in modules:
                imported[match[2]] |= set(match[1].split(", "))
    return imported


def shared_names(sources: Sources, page: list[str], on_demand: Imports) -> Names:
    """Collect the names of the page's modules that modules on demand import."""
    shared: Names = defaultdict(set)
    for modules in on_demand.values():
        for name, names in imported_names(sources, modules).items():
            if name in page:
                shared[name] |= names
    return shared


def head(imported: Names, shared: Names) -> str:
    """Write the beginning of a file on demand: where its imported names come from."""
    statements = ""
    constants = ""
    for name in sorted(imported):
        names = listed(imported[name])
        if name in shared:
            constants += f'const {names} = agui["{name}"];\n'
        else:
            statements += f'import {names} from "./{name}";\n'
    return f"{statements}{TABLE};\n{constants}"


def scoped(sources: Sources, modules: list[str]) -> str:
    """Write modules into one file, each in its own scope. The file exports the last one's names."""
    text = ""
    for module in modules:
        names = listed(exports(sources[module]))
        body = EXPORT.sub("", IMPORT.sub("", sources[module]))
        keyword = "export const" if module == modules[-1] else "const"
        text += f"{keyword} {names} = (() => {{\n{body}\nreturn {names};\n}})();\n"
    return text


def listed(names: Collection[str]) -> str:
    return f"{{ {', '.join(sorted(names))} }}"
