# SPDX-License-Identifier: Apache-2.0
"""corpora.py -- where the corpora beside the repository lie, for every test in Python; examples/frame.sh says it for scripts.

BANDMILL_TEST_CORPORA names another folder. One that does not exist shows what the tests do in a clone without them."""
import os

FOLDER = os.environ.get("BANDMILL_TEST_CORPORA") or os.path.normpath(
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "shared", "data"))
