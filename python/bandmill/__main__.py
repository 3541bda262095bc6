"""``python -m bandmill``: the command."""

from bandmill._command import main

main()
