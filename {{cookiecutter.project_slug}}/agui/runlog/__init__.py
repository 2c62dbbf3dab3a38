"""Where the frames of a run wait for readers: in memory, and with REDIS_URL in Redis, too."""
