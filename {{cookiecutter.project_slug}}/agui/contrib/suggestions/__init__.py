"""What a user may want to say next."""
