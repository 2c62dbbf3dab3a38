"""The parts: what a project can do without."""
