#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_external.sh ROOT PARTS [BOUND] -- at most as many functions are external only for tests (external.awk) as the file BOUND allows
# (external.tsv). Prints their number and, if it is too high, the functions, with exit code 1. A new function should be static; its test
# includes the source, or tests its callers. PARTS as in edges.sh.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bound=${3:-$here/external.tsv}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: > "$work/exports"
awk -F '\t' '$1 == "shared" { print $3 }' "$2" | while read -r shared; do
    "${NM:-nm}" -D -P --defined-only "$shared" | sed 's/[@ ].*//' >> "$work/exports"
done
cd "$1"
for folder in bench python; do # their programs call the rooms too
    [ ! -d "$folder" ] || grep -rhoE --include='*.c' --include='*.h' --include='*.py' '[a-z]+_[a-z0-9_]+' "$folder" >> "$work/exports" || true
done
awk -F '\t' '$1 == "object" { print $3 }' "$2" | tr '\n' '\0' | xargs -0 "${NM:-nm}" -A -P > "$work/objects"
awk -f "$here/external.awk" kind=export "$work/exports" kind=object "$work/objects" | LC_ALL=C sort > "$work/found"
n=$(wc -l < "$work/found" | tr -d ' ')
most=$(sed -n 's/^functions_for_tests	//p' "$bound")
[ "$n" -le "$most" ] || cat "$work/found"
echo "$n functions are external for tests alone (at most $most: external.tsv)"
[ "$n" -le "$most" ]
