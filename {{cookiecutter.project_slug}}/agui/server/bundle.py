"""The element's modules for production: what is always loaded together becomes one file, so no
import waits.

Each module keeps a scope of its own; what it exports is known to all that follow it in the file.
Modules that are loaded on demand take what they share with the page from a table.
"""

import logging
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

IMPORT = re.compile(r"""^import \{ (\w+(?:, \w+)*) \} from "\./([\w-]+\.js)";\n""", re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) (\w+))", re.MULTILINE)
LEFT = re.compile(r"^\s*(?:import\b(?!\s*[(.])|export\b).*", re.MULTILINE)
TABLE = 'const agui = globalThis[Symbol.for("agui")]'

logger = logging.getLogger("agui.static_files")


def flatten(sources: Mapping[str, str], entry: str) -> dict[str, str]:
    """Rewrite modules, by the names of their files; those that the entry imports stay as they are,
    beside it.

    Leaves all of them alone when one is written in another way than these few patterns know, or
    exports a name that another one exports, too.
    """
    counted = Counter(name for text in sources.values() for name in exports(text))
    for name, text in sources.items():
        left = LEFT.search(EXPORT.sub("", IMPORT.sub("", text)))
        twice = [one for one in exports(text) if counted[one] > 1]
        if left or twice:
            problem = left[0] if left else f"export {twice[0]}"
            logger.warning(
                "%s: %r can't be joined, so all modules of the chat are served one by one",
                name,
                problem,
            )
            return {}
    imports = {
        name: [found[2] for found in IMPORT.finditer(text)] for name, text in sources.items()
    }
    together = list(in_order(imports, entry))
    on_demand = {
        name: own_parts(imports, name, together) for name in sources if name not in together
    }
    shared: dict[str, set[str]] = defaultdict(set)
    for parts in on_demand.values():
        for name, names in needed(sources, parts).items():
            if name in together:
                shared[name] |= names
    table = "".join(
        f'agui["{name}"] = {listed(names)};\n' for name, names in sorted(shared.items())
    )
    return {
        entry: f"{TABLE} ??= {{}};\n" + scoped(sources, together) + table,
        **{
            name: head(needed(sources, parts), shared) + scoped(sources, parts)
            for name, parts in on_demand.items()
        },
    }


def exports(text: str) -> list[str]:
    return [found[1] for found in EXPORT.finditer(text)]


def in_order(imports: Mapping[str, list[str]], name: str) -> Iterator[str]:
    """A module and all that it imports, what is imported first."""
    seen: dict[str, None] = {}

    def visit(one: str) -> None:
        for other in imports.get(one, []):
            if other not in seen:
                visit(other)
        seen[one] = None

    visit(name)
    return iter(seen)


def own_parts(imports: Mapping[str, list[str]], name: str, together: list[str]) -> list[str]:
    """A module and those that nobody else imports."""
    parts = {name}
    candidates = [one for one in in_order(imports, name) if one not in together]
    for one in reversed(candidates):
        if all(user in parts for user, used in imports.items() if one in used):
            parts.add(one)
    return [one for one in candidates if one in parts]


def needed(sources: Mapping[str, str], parts: list[str]) -> dict[str, set[str]]:
    """What modules import from others than themselves: names, by module."""
    names: dict[str, set[str]] = defaultdict(set)
    for found in (found for part in parts for found in IMPORT.finditer(sources[part])):
        if found[2] not in parts:
            names[found[2]] |= set(found[1].split(", "))
    return names


def head(names: Mapping[str, set[str]], shared: Mapping[str, set[str]]) -> str:
    others = "".join(
        f'import {listed(names[one])} from "./{one}";\n'
        for one in sorted(names)
        if one not in shared
    )
    return (
        others
        + f"{TABLE};\n"
        + "".join(
            f'const {listed(names[one])} = agui["{one}"];\n'
            for one in sorted(names)
            if one in shared
        )
    )


def scoped(sources: Mapping[str, str], parts: list[str]) -> str:
    """Modules in one file, each in a scope of its own; the last one is what the file exports."""
    text = ""
    for part in parts:
        names = listed(exports(sources[part]))
        body = EXPORT.sub("", IMPORT.sub("", sources[part]))
        keyword = "export const" if part == parts[-1] else "const"
        text += f"{keyword} {names} = (() => {{\n{body}\nreturn {names};\n}})();\n"
    return text


def listed(names: set[str] | list[str]) -> str:
    return f"{{ {', '.join(sorted(names))} }}"
