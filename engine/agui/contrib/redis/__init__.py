"""Runs of several processes: each follows and stops the runs of the others, over Redis.

    logs.py      the logs of all processes
    mirror.py    copies the frames of runs here to Redis
    replicas.py  follows the runs of other processes
    scripts.py   what Redis does in one step
    server.py    the connection to Redis
    refusals.py  errors that refuse a run, for clients of other processes

The library is an extra (`agui-django[redis]`), and is imported only if there is a URL.
"""
