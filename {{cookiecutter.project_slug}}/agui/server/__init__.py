"""What surrounds the requests of a process: daphne, middleware, static files, what is loaded at start."""
