"""Where blocking code runs: bounded pools of threads, and waiting for a database."""
