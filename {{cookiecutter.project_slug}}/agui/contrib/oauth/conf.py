from pydantic import Field

from agui.conf_sections import Section

# Without a path: hosts look for the documents at the root of this address.
SITE = r"^https?://[^/\s?#@]+$"


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
    registration: bool = Field(
        False,
        description="Whether hosts without a client metadata document may register themselves.",
    )
