#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_layers.sh ROOT -- the table of rooms, every #include against it, and the rules of the house that a machine can hold. Prints each
# violation as FILE:LINE: RULE: what; exit 1 if there is any.
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:?usage: check_layers.sh ROOT}" || exit 2
status=0

# src/parquet is no room, but a library of its own, which has a header of input alone.
sources=$(find src kernels include -path src/parquet -prune -o -type f \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.cl' \) -print | LC_ALL=C sort)
[ -n "$sources" ] || { echo "no sources below $PWD"; exit 2; }
# shellcheck disable=SC2086 # names of sources hold no blanks
awk -f "$here/rooms.awk" -f "$here/c_code.awk" -f "$here/layers.awk" src/rooms.tsv $sources || status=1

# A file's name is unique in the tree and says its duty.
folders=
for folder in src kernels include tests bench examples; do
    [ -d "$folder" ] && folders="$folders $folder"
done
# shellcheck disable=SC2086
find $folders -type f \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.cl' \) -print | LC_ALL=C sort | awk -F/ '
    $NF in first { print $0 ":1: unique: the name of " first[$NF]; bad = 1 }
    !($NF in first) { first[$NF] = $0 }
    $NF ~ /^(util|utils|misc|common|helper|helpers|stuff)\.|_utils?\./ { print $0 ":1: name: says no duty"; bad = 1 }
    END { exit bad }' || status=1

# Each source has its test, or says which covers it.
sources=$(find src -path src/parquet -prune -o -type f \( -name '*.c' -o -name '*.cpp' \) -print | LC_ALL=C sort)
# shellcheck disable=SC2086
awk -f "$here/rooms.awk" -f "$here/tested.awk" src/rooms.tsv $sources || status=1

# Paths of one machine have no place in the project.
places='/wor[k]/|/opt/ven[v]|/roo[t]/|/tmp/build[-]'
if grep -rnIE "$places" --exclude-dir=build --exclude-dir=.venv --exclude-dir=.git --exclude=.git --exclude-dir='build-*' . | sed 's|^\./||; s|$| (path of one machine)|' | grep .; then
    status=1
fi
exit $status
