#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# text_rates.sh [PROGRAM [LIMIT [OUT.json]]] -- text in memory to signatures on one core against bench/limit.c and, where
# $DAFT_PYTHON names a Python that has it, Daft (text_rates.py): the corpus that whole_job.sh uses, and 50 MB that are not
# ASCII where the file of $UDHR2 (../shared/data/udhr2/udhr2.zip) is there. Further arguments go to text_rates.py.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
program=${1:-$root/build/release/bandmill}
limit=$("$root/bench/limit_here.sh" "${2:-$(dirname "$program")/bench/limit}")
out=${3:-$root/build/text_rates.json}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] && shift
[ $# -gt 0 ] && shift
folder=$("$root/bench/corpus/prepare.sh")
archive=${UDHR2:-$root/../shared/data/udhr2/udhr2.zip}
if [ -r "$archive" ]; then
    [ -s "$folder/foreign.tsv" ] || python3 "$root/bench/make_foreign.py" "$archive" "$folder/foreign.tsv" >&2
    set -- --foreign "$folder/foreign.tsv" "$@"
else
    echo "text_rates: $archive is not there, no text but ASCII" >&2
fi
[ -z "${DAFT_PYTHON:-}" ] || set -- --daft "$DAFT_PYTHON" "$@"
exec python3 "$root/bench/text_rates.py" --program "$program" --limit "$limit" --documents "$folder/corpus.tsv" \
    --out "$out" "$@"
