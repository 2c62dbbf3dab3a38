"""The chat of `manage.py chat`: an AG-UI client for a person at a terminal, or for a script.

session.py       what is typed: messages, commands, answers; one turn after the other
conversation.py  what the client knows of a thread, and sends of it questions.py     approvals and
questions, put to the person local_tools.py   tools that run here, where the person allowed it
screen.py        what a person sees (markdown.py: text while it arrives; activities.py: plans,
tables, charts) output.py        what a script reads in_process.py    the project's own agent,
without a server
"""
