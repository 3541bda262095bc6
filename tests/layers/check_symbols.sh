#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_symbols.sh ROOT PARTS -- each symbol that the objects of a room lack is of a room or a library that its row in src/rooms.tsv names:
# not of one that an allowed room brings along. The program calls only what the shared library exports, and that exports only what
# include/bandmill declares, and what the room `program` declares for it. A row names no room that the room neither includes nor calls. Prints each violation, exit 1 if there is any.
# PARTS as in edges.sh.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sh "$here/edges.sh" "$1" "$2" > "$work/edges"
: > "$work/exports"
awk -F '\t' '$1 == "shared" { print $3 }' "$2" | while read -r shared; do
    "${NM:-nm}" -D -P --defined-only "$shared" | awk '$2 != "A" { sub(/@.*/, "", $1); print $1 }' >> "$work/exports" # A: the version of the symbols
done
cd "$1"
program=$(find src/program -name '*.h' 2> /dev/null || true)
# shellcheck disable=SC2086 # names of sources hold no blanks
awk -f "$here/rooms.awk" -f "$here/symbols.awk" src/rooms.tsv kind=header include/bandmill/*.h kind=program $program \
    kind=export "$work/exports" kind=edge "$work/edges"
