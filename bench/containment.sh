#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# containment.sh [PROGRAM [OUT.json [DOCUMENTS]]] -- `pairs --measure containment` and `query --measure containment` beside a plain scan of all
# pairs (plain_containment.c); few queries of an index of 100,000 and of 1,000,000 documents (planted.c), by its filters and by a scan: containment.py. DOCUMENTS are JSON Lines, .zst or not: ../shared/data/scancode_rules beside the tree. Further
# arguments go to containment.py, for example --sizes 2000 --thresholds 0.5.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
program=${1:-$root/build/release/bandmill}
out=${2:-$root/build/containment.json}
documents=${3:-$root/../shared/data/scancode_rules/docs.jsonl.zst}
if [ $# -gt 3 ]; then shift 3; else shift $#; fi
exec python3 "$root/bench/containment.py" --program "$program" --plain "$root/build/release/bench/plain_containment" \
    --planted "$root/build/release/bench/planted" --out "$out" "$@" "$documents"
