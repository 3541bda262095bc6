#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# whole_job.sh [PROGRAM [OUT.json]] -- 150,000 documents of real text, 100 MB of JSON Lines, to groups on two cores:
# bandmill against gaoya, in turns (compare_gaoya.py). Makes the corpus if it is not there. Further arguments go to
# compare_gaoya.py. The Python is $BANDMILL_PYTHON, else .venv; it needs gaoya (pip install gaoya==0.2.2).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
program=${1:-$root/build/release/bandmill}
out=${2:-$root/build/whole_job.json}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] && shift
python=${BANDMILL_PYTHON:-$root/.venv/bin/python}
folder=$("$root/bench/corpus/prepare.sh")
exec "$python" "$root/bench/compare_gaoya.py" --program "$program" --documents "$folder/corpus.jsonl" --out "$out" "$@"
