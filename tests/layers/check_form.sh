#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_form.sh ROOT -- the form of sources (CONTRIBUTING.md) that clang-format does not hold. Prints each violation as FILE:LINE: RULE:
# what; exit 1 if there is any. Rules:
#
#     columns     a line of at most 100 characters, unless it is one string
#     include     #include stands before the code; a loop that a file instantiates (*_loops.h, *_groups.h) may follow it
#     prototype   a source declares no function of another one: headers do
#     section     a part of a source begins with "=== words ===", not as the head of a file does
#     drawing     a line of a comment has no runs of blanks but in a drawing, which is indented; there, a reflow has wrecked one
#     world       tests make temporary folders and random numbers by tests/world alone
#     reflow      clang-format leaves comments alone
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:?usage: check_form.sh ROOT}" || exit 2
status=0

grep -q '^ReflowComments: false$' .clang-format ||
    { echo ".clang-format:1: reflow: no line \"ReflowComments: false\", without which drawings are wrecked"; status=1; }

folders=
for folder in src tests bench examples; do
    [ -d "$folder" ] && folders="$folders $folder"
done
# Bytes behind the first of a character are not counted. Rooms that are named here are not done yet.
# shellcheck disable=SC2086
find $folders \( -path src/inmem -o -path src/opencl -o -path src/devices -o -path src/bench -o -name unicode_tables.c \) -prune -o \
    -type f \( -name '*.[ch]' -o -name '*.cpp' \) -print | LC_ALL=C sort | LC_ALL=C xargs awk -f "$here/c_code.awk" -f "$here/form.awk" || status=1
exit $status
