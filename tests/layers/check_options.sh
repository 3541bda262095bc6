#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_options.sh ROOT [list] -- ten options: how many files of src, include and python/bandmill name each, as a whole word, is no more than
# options.tsv allows. Prints the counts; with `list` also the files. Exit 1 where a count is beyond its bound. A bound is lowered when a count
# falls; raising one is a decision, whose commit says why. Then, where there is a Python, the package's keywords are held against the rows of
# src/options/rows.def, of which python/tools/make_options.py makes them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
failed=0
while IFS="$(printf '\t')" read -r name most; do
    case $name in \#*) continue ;; esac
    files=$(grep -rlwI --exclude-dir=__pycache__ -e "$name" src include python/bandmill | LC_ALL=C sort)
    n=$(printf '%s\n' "$files" | grep -c .)
    printf '%s\t%s\tat most %s\n' "$name" "$n" "$most"
    [ "${2:-}" != list ] || printf '    %s\n' $files
    if [ "$n" -gt "$most" ]; then
        printf '%s: %s files, at most %s:\n' "$name" "$n" "$most" >&2
        printf '    %s\n' $files >&2
        failed=1
    fi
done < "$here/options.tsv"
if command -v python3 > /dev/null; then
    python3 python/tools/make_options.py src/options/rows.def python/bandmill/_option_rows.py --check || failed=1
fi
exit $failed
