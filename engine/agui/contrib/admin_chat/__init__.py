"""The chat beside each page of the admin, which knows what the page shows."""
