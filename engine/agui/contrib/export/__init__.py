"""All that is kept of a user, as one download."""
