# SPDX-License-Identifier: Apache-2.0
"""``python -m bandmill``: the command."""

from bandmill._command import main

main()
