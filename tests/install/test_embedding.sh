#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_embedding.sh BUILD_DIR CMAKE -- the programs of examples/embedding: compiled by plain cc with what is installed, and run. What they print
# is what their README.md shows, and nothing in it says that something is wrong.
set -eu
build=$1 cmake=$2
examples=$(cd "$(dirname "$0")/../../examples/embedding" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cmake" --install "$build" --prefix "$work/prefix" > "$work/log" || { cat "$work/log"; exit 1; }
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name bandmill.pc)")
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
export PKG_CONFIG_PATH LD_LIBRARY_PATH
for name in shared_signer shared_index; do
    # shellcheck disable=SC2046
    ${CC:-cc} -Wall -Wextra -Werror "$examples/$name.c" -o "$work/$name" $(pkg-config --cflags --libs bandmill) -pthread
done
"$work/shared_signer" > "$work/signer"
"$work/shared_index" "$work/new" > "$work/index"
awk '/^```/ { inside = !inside; next } inside' "$examples/README.md" | diff - "$work/signer" || { echo "README.md shows another output"; exit 1; }
printf '%s\n' "10 commits of 5 documents; the other thread saw whole commits: yes" \
    "child: the index belongs to the process that opened it (a forked child opens one of its own)" \
    "child: 51 answers" "parent: 51 answers" | diff - "$work/index"
mkdir "$work/more"
sh "$examples/from_installed.sh" "$work/prefix" "$work/more" "${LD_LIBRARY_PATH#"$work/prefix/"}"
if "$work/shared_index" "$work/new" > "$work/again" 2>&1; then echo "a directory that is there is no error"; exit 1; fi
