#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_examples_catches.sh EXAMPLES -- examples/table.sh holds a run to its tolerances and numbers.tsv to the run: over made-up examples, what
# is right passes and each thing that is wrong is refused.
set -eu
examples=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/made" "$work/other"
cp "$examples/frame.sh" "$examples/table.sh" "$work"
export BANDMILL=true
failed=0

# make NAME LINES: an example whose run is these lines after the frame.
make() {
    printf '. "$(dirname "$0")/../frame.sh"\n%s\n' "$2" > "$work/$1/run.sh"
}

# table [ROW...]: a table that has these rows.
table() {
    printf 'example\twhat\tof the work\there\twithin\twhy they differ\n' > "$work/numbers.tsv"
    [ $# = 0 ] || printf '%b\n' "$@" >> "$work/numbers.tsv"
}

# gives STATUS WORDS CLAIM ARGUMENTS...: table.sh ends with STATUS and says WORDS (a pattern; empty: anything).
gives() {
    want=$1 words=$2 claim=$3
    shift 3
    status=0
    sh "$work/table.sh" "$@" > "$work/said" 2>&1 || status=$?
    if [ "$status" != "$want" ] || { [ -n "$words" ] && ! grep -q -e "$words" "$work/said"; }; then
        echo "FAILED: $claim: ended with $status (expected $want), said (expected: $words):"
        cat "$work/said"
        failed=1
    fi
    : > "$work/said"
}

other='other\tsum\t–\t7\t\t'
row='made\tshare\t.50\t.51\t.02\tdrawn'
make other 'number sum none 7 none; echo "for people"'
make made 'number share .50 .51 .02 drawn'
table "$row" "$other"
gives 0 '' 'numbers within their tolerance and in the table pass' --check made other
gives 0 'made' 'without an option the rows are printed' made
table "$other"
gives 1 'table.sh --write made' 'a row that the table lacks is refused' --check made
table "$row" "$row" "$other"
gives 1 'table.sh --write made' 'a row too many is refused' --check made
table 'made\tshare\t.50\t.50\t.02\tdrawn' "$other"
gives 1 'table.sh --write made' 'another number in the table is refused' --check made
table "$row" "$other"

make made 'number share .50 .53 .02 drawn'
gives 1 'at most .02 away' 'a number out of its tolerance is refused' --check made
make made 'number share .50 .51 .02'
gives 1 'does not say why' 'a difference without a reason is refused' --check made
make made 'number share .50 .51 exact drawn'
gives 1 'the work: .50' 'another text where the same is due is refused' --check made
make made 'number share .50 much .02 drawn'
gives 1 'not numbers' 'words within a tolerance are refused' --check made
make made 'number share .50 .50 none'
gives 1 'needs a tolerance' 'a number of the work without a tolerance is refused' --check made
make made 'number share .50 .50 exact; number share .50 .50 exact'
gives 1 'stands twice' 'one name for two numbers is refused' --check made
make made 'beside share .50 .53 .02 theory'
gives 1 'expected .50, at most .02 away' 'a number too far from what is expected is refused' --check made
make made 'echo nothing'
gives 1 'no number' 'a run without a number is refused' --check made
make made 'number share .50 .51 .02 drawn; exit 3'
gives 1 'ended with 3' 'a run that fails is refused' --check made
make made 'false; number share .50 .51 .02 drawn'
gives 1 'ended with 1' 'a command that fails ends the run' --check made
make made 'echo "skipped: why"; exit 77'
gives 77 'skipped: why' 'a run that is skipped says so' --check made other
gives 2 'no example none' 'an unknown example is refused' --check none

make made 'number share .50 .51 .02 drawn; echo "<svg/>" > "$scratch/curve.svg"; picture "$scratch/curve.svg"'
gives 1 'a picture is not that' 'a picture that is missing is refused' --check made
echo '<svg></svg>' > "$work/made/curve.svg"
gives 1 'a picture is not that' 'another picture is refused' --check made
gives 0 '' 'pictures are written' --write made
gives 0 '' 'a picture that was written passes' --check made

table "$other"
make made 'number share .50 .53 .02 drawn'
gives 1 'at most .02 away' 'what does not hold is not written' --write made
! grep -q share "$work/numbers.tsv" || { echo "FAILED: written all the same"; failed=1; }
make made 'number share .50 .51 .02 drawn; stand_in "made by seed"'
gives 0 'made by seed' 'other data are not held against the table' --check made
make made 'number share .50 .53 .02 drawn; stand_in "made by seed"'
gives 1 'at most .02 away' 'other data are held to the tolerance' --check made
make made 'number share .50 .51 .02 drawn'
gives 0 '' 'rows are written' --write
cp "$work/numbers.tsv" "$work/written"
table "$row" "$other"
cmp "$work/numbers.tsv" "$work/written" || { echo "FAILED: not written in the order of names"; failed=1; }
exit $failed
