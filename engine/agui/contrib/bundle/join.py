"""The element's modules for production: modules that are always loaded together become one file.

The modules of a file share one scope, whose names the minifier may shorten; a module that has a
name in common with another one keeps its own. Modules that are loaded on demand find the exports
that they share with the page in a table. So do the modules of parts, which stand in folders beside
the element's. Those that every page loads come in the page's file, and a second table has them by
their place in the page. The template's docs/contributing.md has the laws of this.
"""

import logging
import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

IMPORT = re.compile(
    r"""^import \{ (\w+(?:, \w+)*) \} from "(\.\.?/[\w./-]+\.js)";\n""", re.MULTILINE
)
ON_DEMAND = re.compile(r"""\bimport\("(\.\.?/[^"]+)"\)""")
EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) (\w+))", re.MULTILINE)
DECLARED = re.compile(r"^(?:async )?(?:function\*?|class|const|let) (\w*)", re.MULTILINE)
# An import or export that the two patterns above don't know.
UNKNOWN = re.compile(r"^\s*(?:import\b(?!\s*[(.])|export\b).*", re.MULTILINE)
STATE = re.compile(r"^(?:export )?(?:class|let)\b|^(?:export )?const .* = new\b", re.MULTILINE)
# Characters: a request for less costs more than a second copy.
SMALL = 1500
TABLE = 'globalThis[Symbol.for("agui")]'
PARTS = 'globalThis[Symbol.for("agui-parts")]'

logger = logging.getLogger("agui.bundle")

Sources = Mapping[str, str]
"""The text of each module, by the path of its file."""
Imports = Mapping[str, list[str]]
"""The modules that each module imports."""
Names = dict[str, set[str]]
"""Exported names, by module."""


def flatten(
    sources: Sources,
    entry: str,
    parts: Iterable[Sources] = (),
    at_once: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Join modules into the entry and the modules on demand.

    `parts` has the modules of each part, and `at_once` those of them that every page loads, by
    their place. A module that the entry imports also stays as it is, beside it. The result is empty
    if a module has an import or export that these few patterns don't know, or if another module
    exports the same name as one that is imported; it lacks a part of which this is true.
    """
    if not can_be_joined(sources, sources):
        return {}
    everything = dict(sources)
    for modules in parts:
        if can_be_joined({**modules, **sources}, modules):
            everything |= modules
    return join_all(everything, entry, at_once or {})


def can_be_joined(sources: Sources, modules: Sources) -> bool:
    """Tell whether these modules can be joined, among all that they may import."""
    problem = find_problem(sources)
    if problem:
        name, statement = problem
        logger.warning(
            "Not bundling the modules in %s/, but serving them one by one: %s has %r",
            posixpath.dirname(next(iter(modules))),
            name,
            statement,
        )
    return not problem


def join_all(sources: Sources, entry: str, at_once: Mapping[str, str]) -> dict[str, str]:
    imports: dict[str, list[str]] = {}
    for name, text in sources.items():
        imports[name] = [module for _, module in imported_by(name, text)]
    page = in_order(imports, entry)
    # Others share modules with modules of their part, whose names may be those of another part.
    added = {place: name for place, name in at_once.items() if is_page(imports, name, page)}
    demanded = sources.keys() - page - set(added.values())
    on_demand = {name: own_modules(imports, name, page, sources) for name in sorted(demanded)}
    shared = shared_names(sources, page, on_demand)
    of_parts = "".join(with_part(sources, place, name, entry) for place, name in added.items())
    files = {entry: joined(sources, page, f"{TABLE} = {listed(shared)};\n", of_parts)}
    for name, modules in on_demand.items():
        imported = imported_names(sources, modules)
        files[name] = head(name, imported, page) + joined(sources, modules)
    return files


def is_page(imports: Imports, name: str, page: list[str]) -> bool:
    """Tell whether a module is there and imports only modules of the page."""
    return name in imports and set(imports[name]) <= set(page)


def with_part(sources: Sources, place: str, name: str, entry: str) -> str:
    """Write a module of a part into the page's file, and its exports into a table."""
    body = moved(sources[name], name, entry)
    names = listed(exports(sources[name]))
    return f'({PARTS} ??= {{}})["{place}"] = (() => {{\n{body}\nreturn {names};\n}})();\n'


def find_problem(sources: Sources) -> tuple[str, str] | None:
    """Find a module that can't be joined, and the statement that is the reason."""
    counts: Counter[str] = Counter()
    imported: set[str] = set()
    for name, text in sources.items():
        counts.update(exports(text))
        imported.update(module for _, module in imported_by(name, text))
    # A module that no other one imports has a file of its own, and a scope.
    shared = {export for name in imported for export in exports(sources.get(name, ""))}
    for name, text in sources.items():
        unknown = UNKNOWN.search(EXPORT.sub("", IMPORT.sub("", text)))
        if unknown:
            return name, unknown[0]
        for match in IMPORT.finditer(text):
            if resolved(name, match[2]) not in sources:
                return name, match[0].rstrip()
        for exported in exports(text):
            if counts[exported] > 1 and exported in shared:
                return name, f"export {exported}"
    return None


def imported_by(name: str, text: str) -> list[tuple[list[str], str]]:
    """List the imports of a module: names, and the module that has them."""
    imports = IMPORT.finditer(text)
    return [(match[1].split(", "), resolved(name, match[2])) for match in imports]


def resolved(name: str, address: str) -> str:
    """Return the path of a module that a module names: "../agui/dom.js" is "agui/dom.js"."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), address))


def address_of(module: str, name: str) -> str:
    """Return how a module names another one."""
    path = posixpath.relpath(module, posixpath.dirname(name) or ".")
    if path.startswith("../"):
        return path
    return f"./{path}"


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


def own_modules(imports: Imports, name: str, page: list[str], sources: Sources) -> list[str]:
    """List a module on demand, the modules that only it imports, and copies of small ones."""
    own = {name}
    candidates = [module for module in in_order(imports, name) if module not in page]
    for module in reversed(candidates):
        importers = {other for other, imported in imports.items() if module in imported}
        if importers <= own or (importers & own and is_small(sources[module])):
            own.add(module)
    return [module for module in candidates if module in own]


def is_small(text: str) -> bool:
    """Tell whether a module can be copied: it is short, and no two copies of it can differ."""
    return len(text) < SMALL and not STATE.search(text)


def imported_names(sources: Sources, modules: list[str]) -> Names:
    """Collect the names that some modules import from all others."""
    imported: Names = defaultdict(set)
    for module in modules:
        for names, other in imported_by(module, sources[module]):
            if other not in modules:
                imported[other].update(names)
    return imported


def shared_names(sources: Sources, page: list[str], on_demand: Imports) -> set[str]:
    """Collect the names of the page's modules that modules on demand import."""
    shared: set[str] = set()
    for modules in on_demand.values():
        shared |= names_of_page(imported_names(sources, modules), page)
    return shared


def names_of_page(imported: Names, page: list[str]) -> set[str]:
    return {name for module in page for name in imported.get(module, ())}


def head(name: str, imported: Names, page: list[str]) -> str:
    """Write the beginning of a file on demand: where its imported names come from."""
    statements = ""
    for module in sorted(imported.keys() - page):
        statements += f'import {listed(imported[module])} from "{address_of(module, name)}";\n'
    names = names_of_page(imported, page)
    return f"{statements}const {listed(names)} = {TABLE};\n" if names else statements


def joined(sources: Sources, modules: list[str], end: str = "", of_parts: str = "") -> str:
    """Write modules into one file, which has the last one's name and exports its names."""
    bodies = [moved(sources[module], module, modules[-1]) for module in modules]
    counts = Counter(DECLARED.findall("".join(bodies)))
    text = ""
    for module, body in zip(modules, bodies, strict=True):
        names = DECLARED.findall(body)
        if "" in names or any(counts[name] > 1 for name in names):
            body = f"const {scoped(body, exports(sources[module]))}"
        # The last module makes the element, which looks for what parts have at once.
        text += f"{of_parts if module == modules[-1] else ''}{body}\n"
    return f"export const {scoped(text + end, exports(sources[modules[-1]]))}"


def moved(text: str, name: str, file: str) -> str:
    """Return the body of a module for a file, perhaps of another folder."""
    body = EXPORT.sub("", IMPORT.sub("", text))
    if posixpath.dirname(name) == posixpath.dirname(file):
        return body

    def address(match: re.Match[str]) -> str:
        return f'import("{address_of(resolved(name, match[1]), file)}")'

    return ON_DEMAND.sub(address, body)


def scoped(body: str, names: list[str]) -> str:
    return f"{listed(names)} = (() => {{\n{body}\nreturn {listed(names)};\n}})();\n"


def listed(names: Collection[str]) -> str:
    return f"{{ {', '.join(sorted(names))} }}"
