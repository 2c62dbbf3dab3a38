"""MCP, in both directions: the tools of other servers for this agent, and this project's tools for other agents.

    servers.py   AGUI["MCP_CONFIG"]: which servers there are
    sessions.py  one connection to each, for all runs of a process; what becomes of them when a server is away
    toolset.py   their tools, as a run gets them
    endpoint.py  AGUI["MCP_ENDPOINT"]: POST <prefix>mcp/

Nothing of it is imported unless one of the two settings is set; it needs `make setup EXTRAS=mcp`.
"""
