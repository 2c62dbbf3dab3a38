"""Runs that outlive their process: with RUN_EXECUTOR = "dbos", workers execute them.

    ordered.py   what a worker needs to know about a run
    orders.py    a web process orders a run, and a worker takes it up where another one left it
    journal.py   what the run's tools have done, so that none does it again
    splice.py    joins the events of a process that died to those of the next one
    queue.py     the queue in which orders wait for a worker
    worker.py    the workflow that executes a run, and the take-over of runs of dead workers

DBOS makes sure that some worker executes a run until it has ended, but does not replay it: the run
goes on from its draft, which all runs keep in their row (runs/drafts.py).
"""
