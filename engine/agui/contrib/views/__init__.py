"""Cards from templates: `show_view` draws one in the chat, and in MCP hosts as an app.

show.py         `show_view`, and the limits of a card
rendering.py    a template with its values, as HTML, as text, and as calls of its buttons
templatetags/   `{% call_tool %}`, which makes a button call a tool
frame.py        the document around each card: our script, our style, and what they may do
app/            that script and that style: an app of the MCP Apps protocol
page.py         GET <prefix>views/frame/: that document, for the chat
"""
