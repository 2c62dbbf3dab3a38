"""The life of one run: start, drive, record, drafts, heartbeats, shutdown."""
