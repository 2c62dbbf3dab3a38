"""Users are told that a run has ended while nobody read it: by mail, or by a webhook."""
