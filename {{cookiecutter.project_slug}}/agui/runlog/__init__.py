"""Where a run's events wait for readers: memory.py, for one process."""
