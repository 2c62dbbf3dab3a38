"""MCP: the tools of other servers for this agent, and this project for other agents.

The tools of other servers:

    servers.py      the file that AGUI["MCP"]["CONFIG"] names, with the servers
    sessions.py     one open connection to a server
    connections.py  the connections of a process, and what happens while a server is away
    toolset.py      the servers' tools, as a run gets them
    pins.py         the definitions of these tools that the model may read
    accounts/       the accounts of users at these servers
    incoming.py     the size of what these servers answer, before anything is built of it
    outside.py      requests to what these servers name

Both:

    sealing.py      keys made from SECRET_KEY, and what they encrypt
    models.py       questions to users, tasks, accounts of users, definitions of tools

Their apps in the chat, if the file has `"apps"` for a server:

    app_policy.py     what an app may do, and which tools are for apps
    app_activity.py   the activity that shows a result in its app
    app_documents.py  the document of an app, in a frame of ours
    app_gate.py       what an app may ask for: tools through the gate below, and resources
    app_views.py      GET and POST <prefix>mcp/apps/: the frame, and what the app asks for

This project for other agents, if AGUI["MCP"]["ENDPOINT"] is on:

    views.py        POST <prefix>mcp/: who asks
    origins.py      pages of other sites: which may ask, and read the answer
    exchange.py     one HTTP request and its response, as JSON or as a stream
    handshake.py    what a client has told in `initialize`, in a signed session id
    server.py       the server that answers a request, of tools, prompts and resources
    caller.py       the client of a request
    call.py         a call, and what its answers are bound to
    gate.py         the call of a tool, or of what reads a resource: permission, limits, audit
    recording.py    the audit trail of a call, and what it has used of models
    asking.py       how a question reaches the user: a form, a link, or words for the model
    forms.py        approvals and questions that a client shows as a form
    flat.py         the form of a question: MCP has no nested ones
    links.py        the address of our page, for clients that open it
    approvals.py    the calls that wait on our page
    page.py         our page, on which a person decides
    edits.py        the arguments on our page, and what a person has changed there
    decided.py      the decision, before and after its call is executed
    status.py       what clients are told of a call that waits, and the tool that tells it
    tasks.py        long calls as tasks: a handle for clients that ask for the result later
    task_rows.py    the rows of tasks
    task_states.py  what clients are told of a task
    progress.py     from the steps and activities of a tool to notifications
    describe.py     a tool, as clients list it
    cards.py        what a tool shows with `show_view`, as an app of hosts
    results.py      what a tool returns, as clients get it
    prompts.py      skills as prompts
    resources.py    `@resource`
    reading.py      resources, as clients list and read them

The library is an extra (`agui-django[mcp]`), and is imported only if one of the two settings
is set. `resources.py` needs no library.
"""
