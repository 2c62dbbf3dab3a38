from django.utils.module_loading import import_string
from pydantic import Field, field_validator

from agui.conf_sections import Section, by_import, imported


class DrfMcpSettings(Section):
    """The services of Django REST framework that are tools."""

    environment = {"server": "DRF_MCP_SERVER"}

    server: str | None = Field(
        None,
        description="Dotted path of an MCPServer of djangorestframework-mcp-server whose services "
        "become tools.",
    )

    @field_validator("server")
    @classmethod
    @by_import
    def _is_an_mcp_server(cls, path: str | None) -> str | None:
        if path is not None:
            try:
                from rest_framework_mcp import MCPServer
            except ImportError:
                raise ValueError("it needs packages: install agui-django[drf_mcp]") from None
            server = import_string(imported(path))
            if not isinstance(server, MCPServer):
                raise ValueError(
                    f"{path!r} is a {type(server).__name__}: name an MCPServer, the object itself"
                )
        return path
