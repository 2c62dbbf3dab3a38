"""Guard each piece: a library that has changed is left as it is, with a line in the log."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from inspect import signature
from typing import Any

logger = logging.getLogger("agui.fast")

# The distributions of modules that have another name.
DISTRIBUTIONS = {"ag_ui": "ag-ui-protocol", "pydantic_ai": "pydantic-ai-slim"}


# The lines that this process has logged: some pieces are tried anew for each run.
_logged: set[tuple[str, ...]] = set()


class Changed(Exception):
    """A library is not what a piece was written for."""

    def __init__(self, reason: str, library: str = "") -> None:
        super().__init__(reason)
        self.library = library
        """The library, if it is another one than most of the piece is about."""


@contextmanager
def guarded(what: str, library: str) -> Iterator[None]:
    """Leave something as it is, with a line in the log, if a library has changed.

    A piece finds all that it needs before it changes anything.
    """
    try:
        yield
    except ImportError as error:
        module = error.name or library
        name = re.match(r"cannot import name '(\w+)'", str(error))
        gone = f"{module}.{name[1]}" if name else module
        log_change(what, module.partition(".")[0], f"has no {gone}")
    except Changed as error:
        log_change(what, error.library or library, str(error))
    except (AttributeError, TypeError, ValueError) as error:
        log_change(what, library, f"is not as known: {error}")


def log_change(what: str, library: str, reason: str) -> None:
    """Log why something is not patched, once."""
    line = (what, library, version_of(library), reason)
    if line not in _logged:
        _logged.add(line)
        logger.warning("Not patching %s: %s %s %s", *line)


def version_of(library: str) -> str:
    try:
        return version(DISTRIBUTIONS.get(library, library))
    except PackageNotFoundError:
        return "(unknown version)"


def find(path: str, *parameters: str) -> Any:
    """Find what a library keeps as "module:name", or as "module:Class.name".

    Raises Changed if it is gone, or if it is a function with other parameters than the given ones.
    """
    module, _, names = path.partition(":")
    library = module.partition(".")[0]
    try:
        target: Any = import_module(module)
    except ImportError:
        raise Changed(f"has no {module}", library) from None
    for name in names.split("."):
        if not hasattr(target, name):
            raise Changed(f"has no {module}.{names}", library)
        target = getattr(target, name)
    if parameters and tuple(signature(target).parameters) != parameters:
        is_now = f"{module}.{names}{signature(target)}"
        raise Changed(f"has other parameters: {is_now}", library)
    return target
