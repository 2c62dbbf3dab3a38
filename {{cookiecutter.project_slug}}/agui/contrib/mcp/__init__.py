"""MCP, in both directions: the tools of other servers for this agent, and this project's tools for
other agents.

    servers.py   AGUI["MCP"]["CONFIG"]: which servers there are
    sessions.py  one connection to each, for all runs of a process; what becomes of them when a server is away
    toolset.py   their tools, as a run gets them
    views.py     AGUI["MCP"]["ENDPOINT"]: POST <prefix>mcp/
    server.py    what is answered there

Its library is an extra (`make setup EXTRAS=mcp`), which is imported if one of the two settings is
set.
"""
