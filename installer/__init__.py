"""Bring the agent into an existing Django project.

    python -m installer ../shop

It reads the project (project.py, probe.py), plans all edits (plan.py), writes all of them or none (changes.py), and
takes them back with --remove. Edits of Python files are made in their syntax trees (python_files.py).
"""
