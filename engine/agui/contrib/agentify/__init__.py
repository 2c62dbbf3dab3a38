"""Tools from a Django model: `manage.py agentify shop.Order` (agui/manual/tools.md).

describe.py         reads a model: its names, its fields, its actions, and who owns its rows
fields.py           what a field's values are, for the model and in a tool's parameters
forms.py            what a ModelAdmin or a ModelForm says about the fields
owners.py           the way from a row to its owner
secrets.py          fields that never leave
names.py            the names of tools, and the words for rows
parameters.py       the parameters of tools
source.py           writes Python as ruff formats it
variables.py        the models that the module of tools uses
write_tools.py      writes the module of tools
write_head.py       writes its head: docstring, imports and constants
write_querysets.py  writes which rows are in a user's reach
write_tests.py      writes the tests of the tools
write_evals.py      writes the cases for a language model
wiring.py           lets the agent import the tools
files.py            keeps the user's edits when a file is written again
rows.py             what the written tools call
values.py           what is shown of a field's value
samples.py          what the written tests call
"""
