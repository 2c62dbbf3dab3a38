"""The threads for blocking code, in bounded pools, and waiting for a database."""
