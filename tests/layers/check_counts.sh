#!/bin/sh
# check_counts.sh ROOT -- parameters, fields and lengths of every C source against the counts of the house (counts.awk). Prints each
# violation as FILE:LINE: RULE: what; exit 1 if there is any.
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:?usage: check_counts.sh ROOT}" || exit 2
folders=
for folder in src kernels include tests bench examples packaging; do
    [ -d "$folder" ] && folders="$folders $folder"
done
# shellcheck disable=SC2086 # names of sources hold no blanks
sources=$(find $folders -type f \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.cl' \) | LC_ALL=C sort)
[ -n "$sources" ] || { echo "no sources below $PWD"; exit 2; }
# shellcheck disable=SC2086
awk -f "$here/rooms.awk" -f "$here/c_code.awk" -f "$here/counts.awk" src/rooms.tsv $sources
