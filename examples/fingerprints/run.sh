#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fingerprints: 1,024 sets of 3 grid squares as band keys. Which pairs of prints of the same finger are candidates, and which of others?
#
#   run.sh [FINGERS]    each with two prints (1,000)
. "$(dirname "$0")/../frame.sh"
need_python
fingers=${1:-1000}
[ "$fingers" = 1000 ] || stand_in "$fingers fingers"
PYTHONPATH=$examples "$python" "$here/fingerprints.py" "$bandmill" "$scratch" "$fingers" > "$scratch/numbers"
numbers < "$scratch/numbers"
