"""The surroundings of a process's requests: middleware, static files, the start."""
