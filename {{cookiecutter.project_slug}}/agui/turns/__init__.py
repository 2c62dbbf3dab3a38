"""What is new in a request."""
