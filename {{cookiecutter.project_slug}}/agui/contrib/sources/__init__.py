"""Where an answer comes from."""
