#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# index.sh [PROGRAM [OUT.json]] -- `index build`, `index add` and `query` of 1,000,000 documents beside `sign`, a hash table in
# memory (plain_index.c) and datasketch's MinHashLSH: index.py. Further arguments go there, for example --documents 100000. The
# Python is $BANDMILL_PYTHON, else .venv; it needs datasketch 2 and xxhash. With the defaults it takes 8 GB of /dev/shm.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
program=${1:-$root/build/release/bandmill}
out=${2:-$root/build/index.json}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] && shift
python=${BANDMILL_PYTHON:-$root/.venv/bin/python}
exec "$python" "$root/bench/index.py" --program "$program" --planted "$root/build/release/bench/planted" \
    --plain "$root/build/release/bench/plain_index" --out "$out" "$@"
