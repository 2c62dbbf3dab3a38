"""Cases that an agent is tried with: `make eval`."""
