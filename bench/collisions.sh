#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# collisions.sh [PROGRAM [COLLISIONS]] -- is `dedup` linear where ids, or content hashes, were made to meet in one place of
# its tables (collisions.c)? Prints the CPU seconds of 10,000 to 320,000 documents (SIZES) of each kind (MODES), and
# t(2n)/t(n). Fails where the last ratio of a kind is above 2.5 (RATIO).
# Documents and output lie in /dev/shm where there is one.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
program=${1:-$root/build/release/bandmill}
collisions=${2:-$root/build/release/bench/collisions}
sizes=${SIZES:-10000 20000 40000 80000 160000 320000}
modes=${MODES:-plain ids-low ids-leading content}
most=${RATIO:-2.5}
base=/dev/shm
[ -d "$base" ] && [ -w "$base" ] || base=${TMPDIR:-/tmp}
work=$(mktemp -d "$base/bandmill_collisions.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

printf 'kind\tdocuments\tcpu_seconds\tratio\n'
for mode in $modes; do
    "$collisions" "${sizes##* }" "$mode" >"$work/all.jsonl"
    last=
    for n in $sizes; do
        head -n "$n" "$work/all.jsonl" >"$work/in.jsonl"
        times >"$work/times" # not in a pipe, which would be another shell's
        before=$(tail -n 1 "$work/times")
        "$program" dedup --device cpu --shingle word:1 --kept no --force -q -o "$work/out" "$work/in.jsonl"
        times >"$work/times"
        last=$(echo "$mode $n $before $(tail -n 1 "$work/times") $last" |
            awk 'function s(t) { split(t, p, /[ms]/); return p[1] * 60 + p[2] }
                { cpu = s($5) + s($6) - s($3) - s($4)
                  printf("%s\t%s\t%.2f\t%s", $1, $2, cpu, $9 + 0 == 0 ? "" : sprintf("%.2f", cpu / $9)) }')
        printf '%s\n' "$last"
    done
    echo "$last" | awk -F '\t' -v most="$most" '$4 > most { exit 1 }' || failed=$mode
done
[ -z "${failed:-}" ] || { echo "collisions.sh: $failed is not linear" >&2; exit 1; }
