#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# linear.sh [PROGRAM [PLANTED [OUT.tsv]]] -- is the work of `dedup` linear where a plain program compares every pair with
# every pair? For 125,000, 250,000 and 500,000 documents (SIZES) of three kinds (planted.c): all identical; all differing
# in one word of 80; all sharing one band and nothing else. Prints wall and CPU seconds, peak memory, the pairs compared
# and not compared, and t(2n)/t(n) of the CPU seconds. Fails where a ratio is above 2.2 (RATIO), or resident memory above MEMORY and
# 64 MiB. MEMORY is 2G, in which these sizes fit; with 64M per 125,000 documents of the largest size sets lie in files. Sizes of which
# some fit and some do not have no meaningful ratio.
# Documents and output lie in /dev/shm where there is one.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
program=${1:-$root/build/release/bandmill}
planted=${2:-$root/build/release/bench/planted}
out=${3:-}
sizes=${SIZES:-125000 250000 500000}
most=${RATIO:-2.2}
memory=${MEMORY:-2G}
base=/dev/shm
[ -d "$base" ] && [ -w "$base" ] || base=${TMPDIR:-/tmp}
temp=${TMPDIR:-/tmp} # not in /dev/shm: a file there is memory
work=$(mktemp -d "$base/bandmill_linear.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

count() { # count NAME: of the report
    sed -n "s/^ *\"$1\": *\([0-9]*\),*$/\1/p" "$work/out/report.json" | head -n 1
}

measure() { # measure MODE N OPTION…
    mode=$1 n=$2
    shift 2
    "$planted" "$n" --mode "$mode" >"$work/in.jsonl"
    times >"$work/times" # not in a pipe, which would be another shell's
    before=$(tail -n 1 "$work/times")
    began=$(date +%s.%N)
    "$program" dedup --device cpu --kept no --memory "$memory" --temp-dir "$temp" --force -q "$@" -o "$work/out" "$work/in.jsonl" 2>"$work/said" ||
        { cat "$work/said" >&2; exit 1; }
    ended=$(date +%s.%N)
    times >"$work/times"
    after=$(tail -n 1 "$work/times")
    rm -f "$work/in.jsonl"
    peak=$(count peak_resident_bytes)
    echo "$mode $n $began $ended $before $after $(count verified) $(count not_compared) $peak" |
        awk 'function s(t) { split(t, p, /[ms]/); return p[1] * 60 + p[2] }
            { printf "%s\t%s\t%.2f\t%.2f\t%s\t%s\t%d\n", $1, $2, $4 - $3, s($7) + s($8) - s($5) - s($6), $9, $10,
                $11 / 1048576 }' >>"$work/table"
    tail -n 1 "$work/table"
}

printf 'kind\tdocuments\tseconds\tcpu_seconds\tcompared\tnot_compared\tpeak_MiB\n' >"$work/table"
cat "$work/table"
for n in $sizes; do measure identical "$n"; done
for n in $sizes; do measure one-word "$n"; done
for n in $sizes; do measure one-band "$n" --bands 20 --rows 1; done
[ -z "$out" ] || cp "$work/table" "$out"
awk -F '\t' -v most="$most" -v limit="$(($(numfmt --from=iec "$memory") / 1048576 + 64))" '
    NR > 1 && $7 > limit { printf "%s: %d documents took %d MiB (%d at most)\n", $1, $2, $7, limit; bad = 1 }
    NR > 1 && $1 == kind && $2 == 2 * n { ratio = $4 / cpu; printf "%s t(%d)/t(%d) = %.2f\n", kind, $2, n, ratio
        if (ratio > most) bad = 1 }
    { kind = $1; n = $2; cpu = $4 }
    END { exit bad }' "$work/table"
