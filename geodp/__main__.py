"""`python -m geodp` is the command line."""

from geodp.cli import main

main()
