"""Servers of djangorestframework-mcp-server, to test the bridge with."""

import threading
from collections import Counter
from dataclasses import replace
from typing import Any

from django.contrib.auth.models import Group
from django.db import connection
from django_service_specs import SelectorKind, ServiceError
from rest_framework import serializers
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework_mcp import MCPServer
from rest_framework_mcp.auth.permissions import DjangoPermRequired
from rest_framework_mcp.auth.rate_limits import FixedWindowRateLimit
from rest_framework_mcp.config import build_mcp_config
from rest_framework_mcp.constants import ToolContentKind
from rest_framework_services.types.selector_spec import SelectorSpec
from rest_framework_services.types.service_spec import ServiceSpec

from tests.urls import effects

PIXEL = b"\x89PNG\r\n\x1a\n"
# Where the last service ran.
at: dict[str, Any] = {}
hanging, let_go = threading.Event(), threading.Event()
lists: Counter[str] = Counter()
listing: dict[str, Exception] = {}


class Counted(MCPServer):
    """Counts how often it is asked for its tools, and may fail to tell."""

    def list_tools(self, *args: Any, **options: Any) -> Any:
        lists[self.name] += 1
        if self.name in listing:
            raise listing[self.name]
        return super().list_tools(*args, **options)


class GroupInput(serializers.Serializer):
    name = serializers.CharField(max_length=10)


class GroupOutput(serializers.Serializer):
    id = serializers.IntegerField()
    name = serializers.CharField()


class Nobody(BasePermission):
    def has_permission(self, request: Any, view: Any) -> bool:
        return False


def note(name: str, user: Any) -> None:
    effects.append(f"{name} by {user.get_username()}")
    at.update(thread=threading.current_thread().name, connection=connection)


def create_group(*, data: Any, user: Any) -> Group:
    note("create", user)
    return Group.objects.create(name=data["name"])


def say_who(*, user: Any) -> dict[str, Any]:
    note("who", user)
    return {"who": user.get_username()}


async def say_who_async(*, user: Any) -> dict[str, Any]:
    effects.append(f"who_async by {user.get_username()}")
    return {"who": user.get_username(), "groups": await Group.objects.acount()}


def sold_out(*, user: Any) -> None:
    note("sold_out", user)
    raise ServiceError("Sold out until Monday.")


def broken(*, user: Any) -> None:
    note("broken", user)
    raise ValueError("postgres://user:hunter2@db")


def draw(*, user: Any) -> bytes:
    return PIXEL


def hang(*, user: Any) -> dict[str, Any]:
    note("hang", user)
    hanging.set()
    let_go.wait(60)
    return {"done": True}


def groups() -> Any:
    return Group.objects.order_by("name")


QUIET = {"destructiveHint": False}
output: Any = SelectorSpec(kind=SelectorKind.RETRIEVE, output_serializer=GroupOutput)
server = Counted(name="main")


def serve(name: str, fn: Any, on: MCPServer = server, permission: Any = IsAuthenticated, **options: Any) -> None:
    serializer = options.pop("input_serializer", None)
    spec: Any = ServiceSpec(
        service=fn,
        input_serializer=serializer,
        output_selector_spec=options.pop("output_selector_spec", None),
        permission_classes=[permission],
        atomic=options.pop("atomic", True),
    )
    options = {"description": f"Do {name}.", "annotations": QUIET, **options}
    on.register_service_tool(name=name, spec=spec, **options)


create = {"input_serializer": GroupInput, "output_selector_spec": output}
serve("groups.create", create_group, title="Make a group", **create)
serve("groups.replace", create_group, annotations=None, **create)
serve("who", say_who)
serve("who_async", say_who_async)
serve("sold_out", sold_out)
serve("broken", broken)
serve("draw", draw, content_kind=ToolContentKind.IMAGE, content_mime_type="image/png")
serve("forbidden", say_who, permission=Nobody)
serve("for_some", say_who, permissions=[DjangoPermRequired("auth.view_group")])
once = FixedWindowRateLimit(max_calls=1, per_seconds=10**9)
people = {"title": "Not for people", "display_name": "Ask seldom", "display_description": "Once in a while."}
serve("seldom", say_who, rate_limits=[once], **people)
all_groups: Any = SelectorSpec(
    kind=SelectorKind.LIST, selector=groups, output_serializer=GroupOutput, permission_classes=[IsAuthenticated]
)
server.register_selector_tool(name="groups.list", description="List the groups.", paginate=True, spec=all_groups)
# What nobody has called read-only is not.
by_nobody = {"annotations": {"readOnlyHint": False}}
server.register_selector_tool(name="groups.sweep", description="Sweep.", paginate=True, spec=all_groups, **by_nobody)

paged = Counted(name="paged", config=replace(build_mcp_config(), page_size=2, filter_listings_by_permissions=True))
for number in range(5):
    serve(f"number_{number}", say_who, on=paged)
serve("for_some", say_who, on=paged, permissions=[DjangoPermRequired("auth.view_group")])

twins = Counted(name="twins")
serve("a.b", say_who, on=twins)
serve("a_b", broken, on=twins)


class Personal(MCPServer):
    """Describes a tool differently to each user. Its list has a second page, which ada gets with a permission."""

    def list_tools(self, cursor: Any = None, **options: Any) -> Any:
        who = options["user"].get_username()
        if cursor and who == "ada":
            hanging.set()
            let_go.wait(60)
        page = super().list_tools(None, **options)
        tools = [{**tool, "description": f"Greet {who}."} for tool in page["tools"]]
        return {"tools": []} if cursor else {"tools": tools, "nextCursor": "2"}


personal = Personal(name="personal")
serve("greet", say_who, on=personal)

slow = Counted(name="slow", config=replace(build_mcp_config(), dispatch_timeout=60))
serve("hang", hang, on=slow, atomic=False)  # SQLite has one writer
