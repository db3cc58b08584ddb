"""Research sweeps: many runs on the same luck, resumable, on all cores or a cluster."""
