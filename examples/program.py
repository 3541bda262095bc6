# SPDX-License-Identifier: Apache-2.0
"""program.py -- the program in a script of an example. A run.sh whose script uses a module of this folder says PYTHONPATH="$examples"."""
import subprocess
import sys


def output(*command):
    """What it prints. Where it fails it has said why, and that is the end of the run."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(done.returncode if done.returncode > 0 else 128 - done.returncode)
    return done.stdout
