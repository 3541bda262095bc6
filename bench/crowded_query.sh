#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# crowded_query.sh [PROGRAM [PLANTED [OUT.tsv]]] -- is the work of asking linear where documents are near-copies of each other, n asked
# against n? For 10,000 to 320,000 documents (SIZES; planted.c, one word of 80 differs): `query --top 10`, the same with
# --memory 64M, `dedup --against` an index and a directory of signatures, `query` of all answers where few reach the threshold,
# and `query` of one text n times with --memory 64M. Up to SIZE_ALL (10,000) also `query` of all answers, whose number is
# quadratic: CPU nanoseconds an answer are printed. A table of CPU seconds, with what was not compared and t(2n)/t(n).
# Documents and output lie in /dev/shm where there is one.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
program=${1:-$root/build/release/bandmill}
planted=${2:-$root/build/release/bench/planted}
out=${3:-}
sizes=${SIZES:-10000 20000 40000 80000 160000 320000}
all=${SIZE_ALL:-10000}
limit=${LIMIT:-900} # CPU seconds that one command may take
base=/dev/shm
[ -d "$base" ] && [ -w "$base" ] || base=${TMPDIR:-/tmp}
work=$(mktemp -d "$base/bandmill_crowded.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

failed=0
measure() { # measure NAME N COMMAND…
    name=$1 n=$2
    shift 2
    times >"$work/times" # not in a pipe, which would be another shell's
    before=$(tail -n 1 "$work/times")
    (ulimit -t "$limit" && exec "$program" "$@" >"$work/rows" 2>"$work/said") || [ $? -eq 1 ] || {
        tail -n 1 "$work/said" >&2
        echo "$name: ended, or took more than $limit s" >&2
        failed=1
        return 0
    }
    times >"$work/times"
    after=$(tail -n 1 "$work/times")
    left=$(sed -n 's/^bandmill: up to \([0-9,]*\) pairs of crowded buckets .*/\1/p' "$work/said" | tr -d ,)
    rows=$(wc -l <"$work/rows")
    rm -f "$work/rows"
    echo "$name $n $before $after ${left:-0} $rows" |
        awk 'function s(t) { split(t, p, /[ms]/); return p[1] * 60 + p[2] }
            { cpu = s($5) + s($6) - s($3) - s($4)
              printf "%s\t%s\t%.2f\t%s\t%s\n", $1, $2, cpu, $7, ($8 > 0) ? sprintf("%.0f", cpu * 1e9 / $8) : "" }' >>"$work/table"
    tail -n 1 "$work/table"
}

printf 'what\tdocuments\tcpu_seconds\tnot_compared\tns_a_row\n' >"$work/table"
cat "$work/table"
for n in $sizes; do
    "$planted" "$n" --mode one-word >"$work/known.jsonl"
    "$planted" "$n" --mode one-word | sed 's/^{"id":"/&q/' >"$work/asked.jsonl"
    "$planted" "$n" --mode identical | sed 's/^{"id":"/&q/' >"$work/same.jsonl"
    "$program" index build "$work/index" "$work/known.jsonl" --device cpu -q --force
    "$program" index build "$work/copies" "$work/same.jsonl" --device cpu -q --force
    "$program" sign "$work/known.jsonl" -o "$work/signed" --device cpu -q --force
    measure query-top "$n" query "$work/index" "$work/asked.jsonl" --top 10
    measure query-top-64M "$n" query "$work/index" "$work/asked.jsonl" --top 10 --memory 64M
    measure query-few "$n" query "$work/index" "$work/asked.jsonl" --threshold .95
    measure against-index "$n" dedup --device cpu --against "$work/index" "$work/asked.jsonl" -o "$work/out" --kept no --force
    measure against-star "$n" dedup --device cpu --against "$work/index" "$work/asked.jsonl" -o "$work/out" --cluster star --kept no --force
    measure against-dir "$n" dedup --device cpu --against "$work/signed" "$work/asked.jsonl" -o "$work/out" --kept no --force
    measure identical-64M "$n" query "$work/copies" "$work/same.jsonl" --top 2 --memory 64M
    [ "$n" -gt "$all" ] || measure query-all "$n" query "$work/index" "$work/asked.jsonl"
done
[ -z "$out" ] || cp "$work/table" "$out"
sort -t "	" -k1,1 -k2,2n "$work/table" | awk -F '\t' '
    $1 == kind && $2 == 2 * n && cpu > 0 { printf "%s t(%d)/t(%d) = %.2f\n", kind, $2, n, $3 / cpu }
    { kind = $1; n = $2; cpu = $3 }'
exit "$failed"
