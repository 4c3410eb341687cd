"""`python -m contextune`: the command line."""

from contextune.cli import main

main()
