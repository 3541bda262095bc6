#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_walk.sh ROOT [BOUNDS] -- what a reader has to walk through, counted in the sources (walk.awk), is no more than walk.tsv allows: a bound is
# what the count was when it was last looked at. Prints each count that is beyond its bound, and what it is made of; exit 1 if there is one.
# check_walk.sh ROOT [BOUNDS] lower -- lower the bounds to what is counted now. Raising one is a decision, by hand, whose commit says why.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bounds=$here/walk.tsv lower=
cd "$1"
shift
for argument; do
    case $argument in
    lower) lower=1 ;;
    *) bounds=$argument ;;
    esac
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
find src kernels include -type f \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.cl' -o -name '*.def' \) | LC_ALL=C sort > "$work/sources"
walk() { tr '\n' '\0' < "$work/sources" | xargs -0 awk -v fields=src/options/rows.def -v list="${1:-}" -f "$here/walk.awk"; }

walk > "$work/counts"
awk -F '\t' -v OFS='\t' -v lower="$lower" '
    FNR == NR { count[$1] = $2; next }
    /^#/ || !($1 in count) { print; if (!/^#/) { print "walk.tsv: there is no count " $1 > "/dev/stderr"; bad = 1 } next }
    lower != "" && count[$1] < $2 { $2 = count[$1] }
    { print; if (count[$1] > $2) { print $1 ": " count[$1] ", at most " $2 > "/dev/stderr"; bad = 1 } delete count[$1] }
    END { for (name in count) { print "walk.tsv: no bound for " name > "/dev/stderr"; bad = 1 } exit bad }' "$work/counts" "$bounds" > "$work/bounds" 2> "$work/said" ||
    failed=1
[ -z "$lower" ] || cp "$work/bounds" "$bounds"
while IFS= read -r line; do
    echo "$line"
    walk "${line%%:*}" | sed -n 1,200p
done < "$work/said"
cut -f 1,2 "$work/counts" | tr '\t\n' '  '
echo
exit "${failed:-0}"
