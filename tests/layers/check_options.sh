#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_options.sh ROOT [list] -- how many files of src, include and python/bandmill name each of eleven options, as a whole word, is no more
# than options.tsv allows. Prints the counts, with `list` also the files. A bound is lowered when a count falls; raising one is a decision,
# whose commit says why. Then each member of a public struct of options has a row, or a reason (options.awk). Then, where there is a Python,
# the keywords of the package are those that python/tools/make_options.py makes of the rows. Exit 1 if one of these does not hold.
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
awk -f "$here/options.awk" src/options/rows.def include/bandmill/types.h include/bandmill/job.h || failed=1
if command -v python3 > /dev/null; then
    python3 python/tools/make_options.py src/options/rows.def python/bandmill/_option_rows.py --check || failed=1
fi
exit $failed
