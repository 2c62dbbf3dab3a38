"""The accounts of users at remote MCP servers whose entry says `"auth": "oauth"`.

    page.py         the page on which a user connects an account, and the way back to it
    signing_in.py   the sign-in, until the server has given tokens
    clients.py      what this project is at a server, and how it has been registered there
    tokens.py       the tokens of a user: renewed, sent, ended

The official client finds out where a user signs in, and registers this project there. It can't wait
for the user: they come back with another request, perhaps to another process.
"""
