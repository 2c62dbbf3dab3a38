"""The offline demo model: it needs no key and no network.

model.py      what it answers
choice.py     which tools a message means to it
words.py      how it compares words
arguments.py  which arguments it finds in a message
schemas.py    how it reads the schemas of arguments
results.py    how it tells what a tool returned
testing.py    the demo model with a project's own tools, for tests
"""
