#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scale.sh [PROGRAM [PLANTED [OUT.json]]] -- `dedup` of streamed documents of about 1 kB within --memory: 1, 2, 5 and 10 million (SIZES)
# with planted pairs of known similarity (planted.c), 2 GiB (MEMORY), 2 threads (THREADS), the native CPU. Nothing but the temporary
# files touches the disk: 1.3 kB a document under TEMP (default: TMPDIR or /tmp; skipped with a message where there is no room).
# SHINGLES=50: documents of about 300 bytes, with that many shingles.
# Prints and writes as JSON: wall seconds, CPU seconds of the program alone, documents a second, peak memory, bytes of temporary files,
# the share of planted pairs found at each similarity beside the S-curve's, and pairs within groups that were not planted.
# Fails where memory passes MEMORY + 64 MiB, where a group holds what was not planted together, or where the documents a second of the
# slowest size are more than 20 % below those of the fastest.
#
# The full measurement: scripts/build.sh build/release -DCMAKE_BUILD_TYPE=Release && bench/scale.sh build/release/bandmill \
#     build/release/bench/planted bench/results/scale.json
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
program=${1:-$root/build/release/bandmill}
planted=${2:-$root/build/release/bench/planted}
out=${3:-}
memory=${MEMORY:-2G}
shingles=${SHINGLES:-150}
temp=${TEMP:-${TMPDIR:-/tmp}}
work=$(mktemp -d "$temp/bandmill_scale.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

value() { sed -n "s/^ *\"$1\": *\"*\(${2:-[0-9]*}\)\"*,*$/\1/p" "$work/out/report.json" | head -n 1; }

# The share of each planted similarity that lies in one group, and pairs of groups that were not planted. Both files are walked once.
recall() {
    awk -F '\t' '
        FNR == NR {
            members = $0; sub(/.*"members":\[/, "", members); sub(/\].*/, "", members); gsub(/"/, "", members)
            n = split(members, m, ","); pairs += n * (n - 1) / 2
            for (i = 1; i <= n; i++) group[m[i]] = FNR
            next
        }
        FNR > 1 {
            planted[$3]++
            if (($1 in group) && group[$1] == group[$2]) { found[$3]++; pairs-- }
        }
        END {
            printf "\"found\": {"
            for (j in planted) printf "%s\"%s\": [%.5f, %.5f]", k++ ? ", " : "", j, found[j] / planted[j], j < .8 ? 0 : 1 - (1 - j ^ 7) ^ 13
            printf "}, \"pairs_not_planted\": %d", pairs
        }' "$work/out/groups.jsonl" "$work/truth.tsv"
}

measure() { # measure N
    need=$(($1 * (9 * shingles + 80) / 1024)) free=$(df -Pk "$temp" | awk 'NR == 2 { print $4 }')
    if [ "$need" -gt "$free" ]; then
        echo "scale.sh: $1 documents left out: $need KiB needed under $temp, $free free" >&2
        return 0
    fi
    "$planted" "$1" --shingles "$shingles" --truth "$work/truth.tsv" |
        bash -c 'TIMEFORMAT="%R %U %S"; time "$@"' time "$program" dedup - --device cpu --threads "${THREADS:-2}" --memory "$memory" \
            --temp-dir "$temp" --kept no --force -q -o "$work/out" 2>"$work/said" || { cat "$work/said" >&2; exit 1; }
    tail -n 1 "$work/said" | {
        read -r wall user system
        printf '{"documents": %s, "seconds": %s, "cpu_seconds": %s, ' "$1" "$wall" "$(echo "$user $system" | awk '{ print $1 + $2 }')"
        printf '"peak_resident_bytes": %s, "memory_limit_bytes": %s, ' "$(value peak_resident_bytes)" "$(value memory_limit_bytes)"
        printf '"sets_from": "%s", "set_bytes": %s, "set_bytes_read_back": %s, "key_bytes": %s, "candidates": %s, ' \
            "$(value sets_from "[a-z]*")" "$(value set_bytes)" "$(value set_bytes_read_back)" "$(value key_bytes)" "$(value candidates)"
        recall
        printf '}\n'
    } >>"$work/rows"
    tail -n 1 "$work/rows"
}

for n in ${SIZES:-1000000 2000000 5000000 10000000}; do measure "$n"; done
if [ -n "$out" ]; then
    {
        printf '{"command": "SIZES=\\"%s\\" SHINGLES=%s MEMORY=%s bench/scale.sh", "commit": "%s", "rows": [\n' \
            "${SIZES:-1000000 2000000 5000000 10000000}" "$shingles" "$memory" "$(git -C "$root" rev-parse --short HEAD 2>/dev/null || echo unknown)"
        sed '$!s/$/,/' "$work/rows"
        printf ']}\n'
    } >"$out"
fi
awk '
    function field(name) { return match($0, "\"" name "\": [0-9.]+") ? substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4) + 0 : 0 }
    {
        rate = field("documents") / field("seconds"); each = field("cpu_seconds") / field("documents")
        if (NR == 1 || rate < least) least = rate
        if (rate > most) most = rate
        if (NR == 1 || each < cheapest) cheapest = each
        if (each > dearest) dearest = each
        if (field("peak_resident_bytes") > field("memory_limit_bytes") + 67108864) { print "over its memory: " $0; bad = 1 }
        if (field("pairs_not_planted") > 0) { print "clusters were merged: " $0; bad = 1 }
    }
    END {
        printf "%.0f to %.0f documents a second (%.1f %%), %.2f to %.2f us of CPU a document\n", least, most, 100 * (1 - least / most), cheapest * 1e6, dearest * 1e6
        if (least < .8 * most) bad = 1
        exit bad
    }' "$work/rows"
