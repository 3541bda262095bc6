#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Signatures of a small matrix through three permutations written by hand, and minima over a stream, by the library's own reference.
#
# The program is a part of the build (target hand_permutations), where the program bandmill lies too.
. "$(dirname "$0")/../frame.sh"
program=$(dirname "$(command -v "$bandmill")")/examples/hand_permutations
[ -x "$program" ] || die "no program $program (a build makes it: cmake --build build/release --target hand_permutations)"

[ -n "${EXAMPLES_TABLE:-}" ] || "$program"
"$program" numbers > "$scratch/numbers.tsv"

# is NAME WORK: the program's value of that name, beside the work's.
is() {
    number "$1" "$2" "$(awk -F '\t' -v name="$1" '$1 == name { print $2 }' "$scratch/numbers.tsv")" exact
}
is 'minima of permutation 1' '(2,1,2,1)'
is 'minima of permutation 2' '(2,1,4,1)'
is 'minima of permutation 3' '(1,2,1,2)'
is 'columns 1 and 3: similarity' 0.75
is 'columns 1 and 3: share of equal words' 0.67
is 'columns 2 and 4: similarity' 0.75
is 'columns 2 and 4: share of equal words' 1.00
is 'columns 1 and 2: similarity' 0.00
is 'columns 1 and 2: share of equal words' 0.00
is 'columns 3 and 4: similarity' 0.00
is 'columns 3 and 4: share of equal words' 0.00
is 'stream: minima of h = x mod 5' '(1, 0)'
is 'stream: minima of g = (2x+1) mod 5' '(2, 0)'
