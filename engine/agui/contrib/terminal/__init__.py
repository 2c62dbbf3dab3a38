"""The chat of `manage.py chat`: an AG-UI client for a person at a terminal, or for a script.

prompt.py        the lines that a person types: messages and commands
session.py       one turn after the other
conversation.py  what the client knows of a thread, and sends with each run
questions.py     asks the person for approvals and answers
local_tools.py   tools that run on the person's machine, if they allow it
screen.py        what a person sees
markdown.py      text on the screen while it arrives
activities.py    plans, tables, charts, documents and cards on the screen
output.py        what a script reads
keyboard.py      standard input
in_process.py    the project's own agent, without a server
"""
