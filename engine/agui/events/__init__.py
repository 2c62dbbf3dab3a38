"""From the events of a run to frames, stage by stage."""
