"""List the definitions of remote tools that wait for an operator, and accept them."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agui.contrib.mcp import pins
from agui.contrib.mcp.models import RemoteTool


class Command(BaseCommand):
    help = (
        "List the tools of remote MCP servers whose definition is new or has changed. With names, "
        "accept them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("names", nargs="*", metavar="server[/tool]", help="what to accept")

    def handle(self, *args: Any, names: list[str], **options: Any) -> None:
        if not names:
            self._list()
        for name in names:
            self._accept(name)

    def _list(self) -> None:
        for row in RemoteTool.objects.filter(accepted_at=None):
            # As JSON, no character of the server can pass for words of this command.
            self.stdout.write(f"{row.server}/{json.dumps(row.name)}  {row.digest[:12]}")
            self.stdout.write(json.dumps(row.definition, indent=2))

    def _accept(self, name: str) -> None:
        server, _, tool = name.partition("/")
        rows = RemoteTool.objects.filter(server=server)
        if tool:
            rows = rows.filter(name=tool)
        accepted = pins.accept(rows)
        if not accepted:
            raise CommandError(f"No definition of {name!r} waits.")
        for row in accepted:
            self.stdout.write(f"Accepted {row.server}/{row.name} {row.digest[:12]}")
