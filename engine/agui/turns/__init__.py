"""The new turn of a request, and the point from which its run continues."""
