"""What OpenTelemetry hears of runs."""
