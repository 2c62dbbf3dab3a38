"""The surroundings of a process's requests: daphne, middleware, static files, the start."""
