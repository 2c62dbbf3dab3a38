"""What users think of answers."""
