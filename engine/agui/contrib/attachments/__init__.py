"""Files that users upload and send with their messages."""
