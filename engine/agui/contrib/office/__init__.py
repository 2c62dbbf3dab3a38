"""The files that people have, as texts: documents, spreadsheets, slides and mails.

Read in this order: kinds.py (their media types), recognize.py (which file is of which), texts.py (a
file becomes a text, once), child.py (a child process with limits), convert.py (what runs in it),
and a module for each kind: word.py, opendocument.py, slides.py, sheets.py, mail.py. html_text.py
writes Markdown for them.
"""
