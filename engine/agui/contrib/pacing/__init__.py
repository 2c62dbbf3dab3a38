"""daphne with patience and limits: slow readers, large bodies, and a graceful end."""
