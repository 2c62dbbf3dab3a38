"""Runs that outlive their process: with RUN_EXECUTOR = "dbos" the web process orders them, and
workers execute them.

    ordered.py   what a worker needs to know of a run
    orders.py    how a worker takes a run up where another one left it
    journal.py   what the run's tools have done, so that none does it again
    splice.py    where the events of the process that died and those of the next one are joined
    queue.py     where orders wait for a worker
    worker.py    the workflow that executes a run, and how the runs of dead workers are taken over

A run that goes on is not replayed. DBOS sees to it that some worker executes a run until it has
ended; what the run has reached is in its row, as the draft that all runs have (runs/drafts.py), and
it goes on from there.
"""
