"""`python -m tests.faults`: see `tests/faults/command.py`."""

import os
import sys

if __name__ == "__main__":
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):  # before numpy: a process with threads must not fork
        os.environ[variable] = "1"
    from tests.faults.command import main

    sys.exit(main())
