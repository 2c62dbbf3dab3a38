"""Resources: what MCP clients may read of a project, under addresses of its own.

    @resource(registry, "shop://orders/{number}", permission="shop.view_order")
    def order(ctx: RunContext[AgentDeps], number: int) -> dict[str, Any]:
        '''An order of the user.'''
        return Order.objects.get(number=number, customer=ctx.deps.user).as_dict()

A function is called as a tool is: as the user, with its permission, in its time, audited. It
returns a text, bytes, a BinaryContent, or what becomes JSON. None, Http404 and DoesNotExist mean
that there is no such resource.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, TypeVar
from urllib.parse import unquote
from weakref import WeakKeyDictionary

from django.core.exceptions import ObjectDoesNotExist
from django.http import Http404
from pydantic_ai.exceptions import ToolFailed

from agui.tools.registry import ToolBinding, ToolRegistry

MISSING = "There is no such resource."
ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://\S+")
PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")
# What would make a path of a value, or hide something in it.
UNSAFE = re.compile(r"[/\\\x00-\x1f\x7f]|\A\.{1,2}\Z")

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Resource:
    """A resource, or a template of many, as its author declared it."""

    uri: str
    binding: ToolBinding
    title: str
    mime_type: str | None = None
    complete: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """For a parameter, a function of ctx and of what was typed that returns values."""

    @property
    def parameters(self) -> list[str]:
        return PLACEHOLDER.findall(self.uri)

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the values of the parameters in an address; None if it is another's."""
        pieces = PLACEHOLDER.split(self.uri)
        pattern = ""
        for index, piece in enumerate(pieces):
            pattern += f"(?P<{piece}>[^/?#]+)" if index % 2 else re.escape(piece)
        matched = re.fullmatch(pattern, uri)
        if matched is None:
            return None
        values = {name: unquote(value) for name, value in matched.groupdict().items()}
        if any(UNSAFE.search(value) for value in values.values()):
            return None
        return values


class ResourceRegistry:
    """The resources of an agent. Their functions are tools that no model gets."""

    def __init__(self, name: str) -> None:
        self.functions = ToolRegistry(f"{name}: resources")
        self._resources: dict[str, Resource] = {}

    def add(self, resource: Resource) -> None:
        """Add a resource. Raises ValueError, naming the cure."""
        if not ADDRESS.fullmatch(resource.uri):
            raise ValueError(
                f"Resource {resource.uri!r}: write an address such as 'shop://orders/{{number}}'."
            )
        if resource.uri in self._resources:
            raise ValueError(f"Resource {resource.uri!r} is registered twice: change one.")
        expected = set(resource.binding.input_schema.get("properties") or {})
        if expected != set(resource.parameters):
            raise ValueError(
                f"Resource {resource.uri!r}: its placeholders and the parameters of its function "
                f"differ: {sorted(expected ^ set(resource.parameters))}. Give them the same names."
            )
        self._resources[resource.uri] = resource

    def find(self, uri: str) -> tuple[Resource, dict[str, str]] | None:
        """Find the resource with an address, and the values of its parameters.

        An address of its own wins over a template.
        """
        if uri in self._resources:
            return self._resources[uri], {}
        for resource in self:
            values = resource.match(uri)
            if values is not None:
                return resource, values
        return None

    def get(self, uri: str) -> Resource | None:
        """Find a resource by the address or the template that it was declared with."""
        return self._resources.get(uri)

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._resources.values())

    def __len__(self) -> int:
        return len(self._resources)


_registries: WeakKeyDictionary[ToolRegistry, ResourceRegistry] = WeakKeyDictionary()


def resources_of(registry: ToolRegistry) -> ResourceRegistry:
    """Return the resources beside an agent's tools."""
    if registry not in _registries:
        _registries[registry] = ResourceRegistry(registry.name)
    return _registries[registry]


def resource(
    registry: ToolRegistry,
    uri: str,
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    mime_type: str | None = None,
    permission: str | None = None,
    complete: Mapping[str, Callable[..., Any]] | None = None,
) -> Callable[[F], F]:
    """Let MCP clients read what the decorated function returns, and return it unchanged.

    The registry is that of the agent's tools. Each placeholder of the address is a parameter.
    """
    if not isinstance(registry, ToolRegistry):
        raise TypeError(
            "@resource lacks the registry of the agent's tools: write @resource(registry, uri)."
        )

    def decorate(fn: F) -> F:
        mine = resources_of(registry)
        binding = mine.functions.add(
            _found(fn),
            name=name,
            description=description,
            summary=title,
            permission=permission,
            read_only=True,
        )
        label = str(binding.spec.label)
        mine.add(Resource(uri, binding, label, mime_type, complete or {}))
        return fn

    return decorate


def _found(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that it says in one way that a resource does not exist."""
    if iscoroutinefunction(fn):

        @wraps(fn)
        async def read_async(*arguments: Any, **named: Any) -> Any:
            try:
                return _existing(await fn(*arguments, **named))
            except (Http404, ObjectDoesNotExist):
                raise ToolFailed(MISSING) from None

        return read_async

    @wraps(fn)
    def read(*arguments: Any, **named: Any) -> Any:
        try:
            return _existing(fn(*arguments, **named))
        except (Http404, ObjectDoesNotExist):
            raise ToolFailed(MISSING) from None

    return read


def _existing(value: Any) -> Any:
    if value is None:
        raise ToolFailed(MISSING)
    return value
