"""Bring the agent into an existing Django project.

    python -m installer ../shop

It reads the project (project.py, probe.py), plans all edits (plan.py, changes.py), writes all of
them or none (journal.py), and takes them back with --remove (removal.py). A further run upgrades
the engine, or changes the parts (renewal.py). Edits of Python files are made in their syntax trees
(python_files.py, name_lists.py).
"""
