"""Speech to text for the page's microphone."""
