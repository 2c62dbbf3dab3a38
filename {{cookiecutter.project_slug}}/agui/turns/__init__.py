"""What is new in a request, and what its run continues from."""
