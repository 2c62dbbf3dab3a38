"""The log keeps a run's frames for readers: in memory, and with REDIS_URL in Redis, too."""
