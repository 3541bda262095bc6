#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# quickstart.sh [-o DIR] [--force] -- from a bare machine to near-duplicates in real text: installs what building needs, builds, runs
# `bandmill dedup` over the copyright files of this machine's packages and its common licences, and makes a report of it. The result lies in
# DIR (default build/quickstart, which is replaced each time), the report in DIR.html; those of another place are only replaced with --force.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out='' force=()
while (($# > 0)); do
    case $1 in
    -o)
        out=${2:?quickstart.sh: -o needs a directory}
        shift
        ;;
    --force) force=(--force) ;;
    *)
        sed -n '3,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
        [[ $1 == -h || $1 == --help ]] && exit 0
        exit 2
        ;;
    esac
    shift
done
if [[ -z $out ]]; then
    out=$root/build/quickstart
    force=(--force)
fi

# On a bare machine a step can take a minute without a word.
say() { printf '== %d/4 %s (%d s)\n' "$1" "$2" "$SECONDS"; }

say 1 "installing what the build needs"
"$root/scripts/install-deps.sh"
say 2 "building into build/release, a minute or two the first time"
tests=OFF
if [[ -e $root/build/release/CMakeCache.txt ]]; then
    tests=$(sed -n 's/^BM_TESTS:[A-Z]*=//p' "$root/build/release/CMakeCache.txt") # as it was configured before
fi
"$root/scripts/build.sh" "$root/build/release" -DCMAKE_BUILD_TYPE=Release "-DBM_TESTS=${tests:-OFF}" -- bandmill
program=$root/build/release/bandmill

list=$root/build/quickstart.list
{
    find /usr/share/doc -name copyright -type f
    find /usr/share/common-licenses -type f
} 2> /dev/null | LC_ALL=C sort > "$list"
if [[ ! -s $list ]]; then
    echo "quickstart.sh: no copyright files below /usr/share/doc on this machine" >&2
    exit 1
fi
say 3 "removing near-duplicates from $(wc -l < "$list") copyright files and licences of this machine"
echo "bandmill dedup --format files --files-from ${list#"$root/"} --pairs -o ${out#"$root/"}"
"$program" dedup --format files --files-from "$list" --pairs -o "$out" "${force[@]}"
say 4 "making a report"
echo "bandmill report ${out#"$root/"} -o ${out#"$root/"}.html"
"$program" report "$out" -o "$out.html" "${force[@]}" -q

printf '\nThe largest groups (documents, the one that is kept):\n'
sed -E 's/.*"kept":"([^"]*)","size":([0-9]+).*/\2\t\1/' "$out/groups.jsonl" | sort -k1,1nr -k2 | awk -F'\t' 'NR <= 5 { printf "  %5d  %s\n", $1, $2 }'
printf '\nThe closest pair that is not identical:\n'
awk -F'\t' 'NR > 1 && $3 < 1 && $3 > best { best = $3; a = $1; b = $2 }
    END { if (a != "") printf "  %s\n  %s\n  Jaccard similarity %s\n", a, b, best; else print "  none" }' "$out/pairs.tsv"
printf '\nThe results are in %s:\n' "$out"
for file in "$out"/*; do
    printf '  %-14s %s\n' "$(basename "$file")" "$(case ${file##*/} in
        groups.jsonl) echo "the groups" ;;
        removed.tsv) echo "each removed document, the one it is like, their similarity, and why" ;;
        pairs.tsv) echo "every verified pair" ;;
        kept_ids.txt) echo "the documents that stay" ;;
        sources.tsv) echo "counts of each input" ;;
        report.json) echo "parameters, provenance, counts, times" ;;
    esac)"
done
printf '\nThe program is %s.\nOpen the report in a browser: %s\n' "$program" "$(realpath "$out.html")"
