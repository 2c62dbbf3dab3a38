"""Where blocking code runs: bounded pools of threads, and the patience with a database."""
