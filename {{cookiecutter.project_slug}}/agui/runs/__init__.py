"""The life of one run: start, drive, record, drafts, signs of life, shutdown."""
