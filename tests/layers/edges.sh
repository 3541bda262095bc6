#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# edges.sh ROOT PARTS -- who uses whom, a line each: FROM<tab>TO<tab>WHAT. FROM and TO are units, which are a folder and a stem
# (src/lsh/verify is verify.c and verify.h); WHAT is "include", or the symbol that an object of FROM lacks and one of TO has. A symbol
# that no room has gives `library:WORD`, the WORD as in src/rooms.tsv, or nothing, where it is of the C library.
#
# PARTS says what the build is made of, a line each, parted by tabs: `object ROOM PATH` and `library WORD PATH` (tests/layers/
# CMakeLists.txt writes it). Symbols are of the objects as built: a call that the compiler could drop is not there.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
parts=$2
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# libm.so may be a text that the linker reads; the library itself has this name where the C library is GNU's.
libm=$("${CC:-cc}" -print-file-name=libm.so.6)
{
    cat "$parts"
    [ -e "$libm" ] && printf 'library\tm\t%s\n' "$libm"
} > "$work/parts"
parts=$work/parts

# Symbols: `PATH: NAME TYPE ...`, of all objects, then of the libraries.
paths() { awk -F '\t' -v kind="$1" '$1 == kind { print $3 }' "$parts"; }
symbols() { # FILE: from nm over the paths on the standard input, with the options given
    to=$1
    shift
    tr '\n' '\0' | xargs -0 "${NM:-nm}" -A -P "$@" > "$to"
}
paths object | symbols "$work/objects"
: > "$work/libraries"
for path in $(paths library); do
    case $path in
    *.a) echo "$path" | symbols "$work/one" --defined-only ;;
    *) echo "$path" | symbols "$work/one" -D --defined-only ;;
    esac
    cat "$work/one" >> "$work/libraries"
done

awk -v parts="$parts" -v exported="$work/libraries" -f "$here/rooms.awk" -f "$here/symbol_edges.awk" src/rooms.tsv "$work/objects"
sources=$(find src kernels include -type f \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.cl' \) | LC_ALL=C sort)
# shellcheck disable=SC2086 # names of sources hold no blanks
awk -f "$here/include_edges.awk" $sources
