"""The settings of django-oauth-toolkit that MCP hosts need, and those that keep them safe.

OAUTH2_PROVIDER of the project wins, so that a project can go on with what it uses the toolkit for.
`conflicts` lists what must not be otherwise (checks.py).
"""

from typing import Any

from django.apps import apps

from agui import conf
from agui.contrib.mcp.conf import McpSettings

HOUR, DAY = 3600, 24 * 3600
CLIENTS = "agui.contrib.oauth.clients"

NEEDED: dict[str, Any] = {
    "CIMD_ENABLED": True,
    "CIMD_METADATA_FETCHER": f"{CLIENTS}.DocumentFetcher",
    "CIMD_REGISTRATION_PERMISSION_CLASSES": [f"{CLIENTS}.AllowedDocument"],
    "PKCE_REQUIRED": True,
    "ALLOW_URI_WILDCARDS": False,
    "ROTATE_REFRESH_TOKEN": True,
    "REFRESH_TOKEN_REUSE_PROTECTION": True,
    "REFRESH_TOKEN_GRACE_PERIOD_SECONDS": 0,
    "COMPLIANT_BCP_RFC9700_TOKEN_STORAGE": True,
}

DEFAULTS: dict[str, Any] = {
    # Programs on a person's machine wait at any port.
    "ALLOW_LOCALHOST_LOOPBACK": True,
    # `http` is for the loopback only (validator.py). The others belong to editors.
    "ALLOWED_REDIRECT_URI_SCHEMES": ["https", "http", "cursor", "vscode", "vscode-insiders"],
    # Some hosts rarely refresh. Each call looks the token up, so revoking it works at once.
    "ACCESS_TOKEN_EXPIRE_SECONDS": 8 * HOUR,
    # Since the last use.
    "REFRESH_TOKEN_EXPIRE_SECONDS": 60 * DAY,
    "COMPLIANT_BCP_RFC9700_IMPLICIT_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PASSWORD_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PKCE_METHOD": True,
    "COMPLIANT_BCP_RFC9700_ACCESS_TOKEN_TRANSPORT": True,
    "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
    "COMPLIANT_BCP_RFC9700_REFRESH_TOKEN": True,
    "COMPLIANT_BCP_RFC9700_REDIRECT_URI_MATCHING": True,
    "COMPLIANT_BCP_RFC9700_PKCE_REQUIRED": True,
}


def is_installed() -> bool:
    return apps.is_installed("oauth2_provider")


def is_active() -> bool:
    """Whether hosts can sign in: a project may use the toolkit for itself alone."""
    return is_installed() and conf.part(McpSettings).endpoint


def merged(own: dict[str, Any]) -> dict[str, Any]:
    """Return OAUTH2_PROVIDER with what the project has not set itself."""
    return {**DEFAULTS, **NEEDED, **own}


def conflicts(own: dict[str, Any]) -> list[str]:
    """List the needed settings that the project has set to something else."""
    return [name for name, value in NEEDED.items() if own.get(name, value) != value]
