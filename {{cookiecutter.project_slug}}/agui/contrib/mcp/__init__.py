"""MCP: the tools of other servers for this agent, and this project's tools for other agents.

    servers.py      the file that AGUI["MCP"]["CONFIG"] names, with the servers
    sessions.py     one open connection to a server
    connections.py  the connections of a process, and what happens while a server is away
    toolset.py      the servers' tools, as a run gets them
    views.py        POST <prefix>mcp/, if AGUI["MCP"]["ENDPOINT"] is on
    server.py       the server that answers there
    results.py      what a tool returns, as clients get it

The library is an extra (`make setup EXTRAS=mcp`), and is imported only if one of the two settings
is set.
"""
