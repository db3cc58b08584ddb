"""Maps that open with no network, and figures. They read the run folder and nothing else."""
