#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cws.sh [SIGNER [OUT.json]] -- scheme cws beside datasketch's WeightedMinHash (cws.py), with the Python of the project's virtual environment.
# Further arguments go to cws.py.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
signer=${1:-$root/build/release/bench/weighted_signer}
out=${2:-$root/build/cws.json}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] && shift
exec "${BANDMILL_PYTHON:-$root/.venv/bin/python}" "$root/bench/cws.py" --signer "$signer" --out "$out" "$@"
