"""What runs cost, and how much a user may spend."""
