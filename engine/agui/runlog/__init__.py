"""The log keeps a run's frames for readers: in the memory of this process."""
