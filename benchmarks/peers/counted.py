"""Notes for each SQL statement how many bytes it writes, one line a statement, in the file SQL_LOG.

Imported by the settings counted_ours.py and counted_theirs.py.
"""

import os

from django.db.backends.signals import connection_created


def note(execute, sql, params, many, context):
    rows = params if many else [params or ()]
    writes = sql.startswith(("INSERT", "UPDATE", "DELETE"))
    size = sum(len(str(value).encode()) for row in rows for value in row) if writes else 0
    if not sql.startswith(("BEGIN", "PRAGMA")):
        with open(os.environ["SQL_LOG"], "a") as log:
            log.write(f"{size}\n")
    return execute(sql, params, many, context)


def watch(connection, **kwargs) -> None:
    if note not in connection.execute_wrappers:
        connection.execute_wrappers.append(note)


connection_created.connect(watch, weak=False)
