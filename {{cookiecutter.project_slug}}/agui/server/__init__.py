"""What surrounds the requests of a process: daphne, middleware, static files, the start."""
