#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check.sh [INCLUDE [LIBRARY]] -- checks that a program built against the headers of this SOVERSION's dump still runs with the headers in
# INCLUDE, and that the shared library LIBRARY has every function that the headers declare and no other. Prints what is wrong. Exit code: 0
# or 1; without abidiff 77, or 1 with CI=true.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
include=${1:-$here/../../include} library=${2:-}
dumps=${BM_ABI_DUMPS:-$here}
number() { sed -n "s/^#define BM_VERSION_$1 \([0-9]*\)$/\1/p" "$include/bandmill/version.h"; }
soname=libbandmill.so.$(number MAJOR).$(number MINOR)
dump=$dumps/bandmill-${soname#libbandmill.so.}.abi
if ! command -v abidiff > /dev/null || ! command -v abidw > /dev/null; then
    echo "check.sh: abidiff is not installed (Debian: abigail-tools): the interface was not compared"
    [ "${CI:-}" = true ] && exit 1
    exit 77
fi
if [ ! -e "$dump" ]; then
    echo "$dump: there is none for $soname (tests/abi/dump.sh writes it)"
    exit 1
fi
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
failed=0
if [ "$(getconf LONG_BIT)" != 64 ]; then
    echo "check.sh: the dump is of a machine with pointers of 64 bits"
    exit 77
fi
sh "$here/surface.sh" "$include" "$room/surface.so" "$soname"

# The library has the functions of the headers.
if [ -n "$library" ]; then
    # A name is followed by its version; the version itself is a symbol too.
    names() { nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $NF); print $NF }' | grep -v '^bm_abi_constants$' | sort; }
    names "$room/surface.so" > "$room/declared"
    names "$library" > "$room/exported"
    diff "$room/declared" "$room/exported" > "$room/out" || {
        echo "functions of the headers (<) and of $library (>) differ:"
        grep '^[<>]' "$room/out"
        failed=1
    }
    node=BANDMILL_${soname#libbandmill.so.}
    nm -D --defined-only "$library" | awk -v node="$node" '$2 != "A" && $NF !~ "@@" node "$" { print $NF }' > "$room/out"
    if [ -s "$room/out" ]; then
        echo "functions of $library without the version $node (cmake/exports.map.in):"
        cat "$room/out"
        failed=1
    fi
    if ! readelf -d "$library" | grep -qF "[$soname]"; then
        echo "$library is not $soname, as version.h has it"
        failed=1
    fi
fi

# Changed leaves: each type by itself, so that a suppression forgets only its own. New functions are fine.
if ! abidiff --leaf-changes-only --no-architecture --no-show-locs --no-added-syms --suppressions "$here/growing.suppr" "$dump" \
    "$room/surface.so" > "$room/out" 2>&1; then
    cat "$room/out"
    failed=1
fi
growing=$(sed -n 's/^  name_regexp = ^(\(.*\))\$$/\1/p' "$here/growing.suppr" | head -n 1 | tr '|' ' ')
sh "$here/dump.sh" "$include" "$room/now.abi" "$room/surface.so"
awk -f "$here/contents.awk" "$dump" > "$room/then.txt"
awk -f "$here/contents.awk" "$room/now.abi" > "$room/now.txt"
awk -v growing="$growing" -v named="$(basename "$dump")" -f "$here/compare.awk" "$room/then.txt" "$room/now.txt" || failed=1
if [ "$failed" != 0 ]; then
    echo "A program built before would break. If that is meant, raise BM_VERSION_MINOR and the project's version (a new SOVERSION) and run"
    echo "tests/abi/dump.sh; docs/abi.md says how to change the interface without it."
fi
exit "$failed"
