"""The surroundings of a process's requests: middleware, logs, the start."""
