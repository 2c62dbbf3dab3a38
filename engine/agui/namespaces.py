"""The agents of a project, told apart by the namespaces of their routes.

A thread belongs to a user and to one agent. Its scope names both, so no agent finds the threads,
runs and files of another.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from django.urls import URLResolver, get_resolver, get_urlconf

FIRST_AGENT = "agui"
"""The namespace of an agent whose `get_urls` names no other, and the app name of all of them."""

NAMESPACE = re.compile("[a-z][a-z0-9_]{0,49}")


def scope_of(owner: str, namespace: str) -> str:
    """Return the scope of an owner's data with one agent."""
    return owner if namespace == FIRST_AGENT else f"{namespace}/{owner}"


def split_scope(scope: str) -> tuple[str, str]:
    """Return the namespace of the agent, and the owner."""
    namespace, slash, owner = scope.partition("/")
    if slash and ":" not in namespace:
        return namespace, owner
    return FIRST_AGENT, scope  # The owner's own key may have a slash.


def owner_of(scope: str) -> str:
    """Return the owner, for what all agents count together: limits and budgets."""
    return split_scope(scope)[1]


def mounted_agents() -> Mapping[str, str]:
    """List the agents that the project's routes name: the name for `reverse`, and the namespace.

    They differ only for routes that are included in another namespace.
    """
    return _agents_of(get_resolver(get_urlconf()))


def all_scopes(scope: str) -> list[str]:
    """List the scopes of one owner with each agent."""
    owner = owner_of(scope)
    return [scope_of(owner, namespace) for namespace in {*mounted_agents().values(), FIRST_AGENT}]


@lru_cache
def _agents_of(resolver: URLResolver) -> dict[str, str]:
    return dict(_mounted(resolver, ""))


def _mounted(resolver: URLResolver, outer: str) -> Iterator[tuple[str, str]]:
    for pattern in resolver.url_patterns:
        if not isinstance(pattern, URLResolver):
            continue
        name = f"{outer}{pattern.namespace}" if pattern.namespace else outer.rstrip(":")
        if pattern.app_name == FIRST_AGENT:
            yield name, str(pattern.namespace)
        else:
            yield from _mounted(pattern, f"{name}:" if name else "")
