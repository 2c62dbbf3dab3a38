"""Sign-in for MCP hosts: people connect Claude, ChatGPT or an editor to the project's MCP endpoint.

The site is the authorization server and the protected resource that the MCP specification asks for,
on django-oauth-toolkit. The part does nothing until `oauth2_provider` is in INSTALLED_APPS and the
MCP endpoint is on.

    provider.py     what django-oauth-toolkit is set to
    addresses.py    the issuer and the resources: which URL means which endpoint
    scopes.py       what a scope allows
    metadata.py     the documents in which hosts find all addresses
    clients.py      who may connect: client metadata documents, registration, their limits
    validator.py    what a request to sign in must have
    consent.py      the page on which a person agrees
    families.py     tokens that belong together: one exchange at a time, the same answer again
    tokens.py       codes for tokens, tokens for users
    mcp_view.py     the MCP endpoint for these tokens
    connections.py  the page on which a person sees and revokes connections
    kept.py         what is kept of connections: for their users, and how long
"""
