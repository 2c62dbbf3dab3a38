"""Messages that users send while the agent works: it reads them in its run, or after it."""
