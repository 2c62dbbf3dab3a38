import re
from typing import Annotated, Any

from django.utils.functional import Promise
from pydantic import AfterValidator, Field, PlainValidator

from agui.conf_sections import Section

# Without a path: hosts look for the documents at the root of this address.
SITE = r"^https?://[^/\s?#@]+$"


def _name(name: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_-]{0,31}", name) or name in ("read", "write"):
        raise ValueError(
            f"{name!r}: write small letters, digits, _ and -, and neither read nor write"
        )
    return name


def _words(value: Any) -> Any:
    if not isinstance(value, str | Promise):
        raise ValueError("write a text, which may be translated lazily")
    return value


class ToolGroup(Section):
    """Tools and resources that a user allows a host on their own, by the permission they ask for.

    AGUI["OAUTH"] = {"GROUPS": {"billing": {
        "WORDS": "See and pay your invoices",
        "PERMISSIONS": ["billing.view_invoice", "billing.pay_invoice"],
    }}}
    """

    words: Annotated[str, PlainValidator(_words)] = Field(
        description="What a user reads about it when they allow it."
    )
    permissions: list[str] = Field(
        min_length=1, description='The permissions of its tools and resources, "app.codename".'
    )


class OauthSettings(Section):
    """Sign-in for MCP hosts, if `oauth2_provider` is in INSTALLED_APPS."""

    environment = {"site_url": "SITE_URL"}

    site_url: str | None = Field(
        None,
        pattern=SITE,
        description="The address of the site, such as `https://assistant.example.com`: the issuer "
        "of all tokens. None takes it from each request, which is for a developer's machine.",
    )
    client_hosts: list[str] | None = Field(
        None,
        description="The hosts whose client metadata documents are accepted, such as "
        '`["claude.ai", "chatgpt.com", ".example.com"]`; None accepts all.',
    )
    groups: dict[Annotated[str, AfterValidator(_name)], ToolGroup] = Field(
        {},
        description="Scopes beside `tools:read` and `tools:write`: each name gives a scope, "
        "`tools:billing`, which tools and resources with one of its permissions need, too.",
    )
    registration: bool = Field(
        False,
        description="Whether hosts without a client metadata document may register themselves.",
    )
