#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# dump.sh [INCLUDE [OUT [SURFACE]]] -- writes the interface of the public headers to tests/abi/bandmill-MAJOR.MINOR.abi, with which check.sh
# compares later headers. Run by hand only: docs/abi.md says when. SURFACE: the output of surface.sh, if it exists already. Needs abidw
# (Debian: abigail-tools).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
include=${1:-$here/../../include}
number() { sed -n "s/^#define BM_VERSION_$1 \([0-9]*\)$/\1/p" "$include/bandmill/version.h"; }
soversion=$(number MAJOR).$(number MINOR)
out=${2:-$here/bandmill-$soversion.abi}
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
surface=${3:-$room/surface.so}
[ -e "$surface" ] || sh "$here/surface.sh" "$include" "$surface" "libbandmill.so.$soversion"
abidw --no-architecture --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed --no-parameter-names \
    --out-file "$room/surface.abi" "$surface"
sed "s|path='[^']*'|path='include/bandmill'|" "$room/surface.abi" > "$out"
