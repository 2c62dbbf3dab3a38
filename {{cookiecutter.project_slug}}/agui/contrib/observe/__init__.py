"""What OpenTelemetry and the log hear of runs."""
