#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# text_ratio.sh [PROGRAM [LIMIT [OUT.json]]] -- text to signatures on one core against bench/limit.c (text_ratio.py), on
# the corpus that whole_job.sh uses, as TSV. Further arguments go to text_ratio.py.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
program=${1:-$root/build/release/bandmill}
limit=$("$root/bench/limit_here.sh" "${2:-$(dirname "$program")/bench/limit}")
out=${3:-$root/build/text_ratio.json}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] && shift
[ $# -gt 0 ] && shift
folder=$("$root/bench/corpus/prepare.sh")
exec python3 "$root/bench/text_ratio.py" --program "$program" --limit "$limit" --documents "$folder/corpus.tsv" \
    --out "$out" "$@"
