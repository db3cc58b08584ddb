"""`python -m geodp` is the command line."""

from geodp.cli.main import main

main()
