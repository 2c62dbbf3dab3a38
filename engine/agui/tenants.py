"""The tenant of a request and of its work, if a project keeps tenants apart.

Such a project names the tenant in a context variable (manual/tenants.md). Context variables go
wherever the work of a request goes. A process serves all its runs at once, tenant by tenant.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import cast

from django.utils.module_loading import import_string

from agui import conf


def _variable() -> ContextVar[str] | None:
    """Return the variable that AGUI["TENANT"] names."""
    path = conf.get().tenant
    if path is None:
        return None
    return cast(ContextVar[str], import_string(path))


def are_kept_apart() -> bool:
    return conf.get().tenant is not None


def current_tenant() -> str | None:
    """Return the tenant of this request or run; None if it has none."""
    variable = _variable()
    if variable is None:
        return None
    return variable.get(None)


@contextmanager
def working_for(tenant: str | None) -> Iterator[None]:
    """Belong to a tenant until the block ends."""
    variable = _variable()
    if variable is None or tenant is None:
        yield
        return
    token = variable.set(tenant)
    try:
        yield
    finally:
        variable.reset(token)
