# SPDX-License-Identifier: Apache-2.0
# frame.sh -- what every example needs. A run.sh begins with:   . "$(dirname "$0")/../frame.sh"
#
# Set here:      $here      folder of the example         $examples  the folder of all        $root  the tree
#                $bandmill  the program: $BANDMILL, or that of build/release or build, or bandmill on PATH
#                $scratch   an empty folder, removed at the end
# To be called:  number     a number beside that of the work: for people on stdout, and for table.sh
#                beside     a number that the work does not print, held against what is to be expected
#                numbers    the same as number, of lines
#                picture    a file that README.md shows: kept where EXAMPLES_OUT=FOLDER says
#                stand_in   this run has other data than the table
#                need_python, shared_data
#
# POSIX sh; errors end the run.
set -eu
LC_ALL=C
export LC_ALL # the same decimal point and order everywhere
here=$(cd "$(dirname "$0")" && pwd)
examples=$(cd "$here/.." && pwd)
root=$(cd "$examples/.." && pwd)

die() {
    echo "$(basename "$here")/run.sh: $*" >&2
    exit 2
}

if [ -n "${BANDMILL:-}" ]; then
    bandmill=$BANDMILL
else
    bandmill=bandmill
    for built in "$root/build/bandmill" "$root/build/release/bandmill"; do
        [ ! -x "$built" ] || bandmill=$built
    done
fi
command -v "$bandmill" > /dev/null || die "no program bandmill (build it, or say BANDMILL=FILE)"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# number WHAT WORK HERE TOLERANCE [WHY]: one row of examples/numbers.tsv.
#   WORK       what the work printed, or `none`
#   HERE       what this run prints: the same at every run, so nothing that was timed
#   TOLERANCE  `exact`: HERE is WORK, character by character; a number: they differ by that at most; `none` where WORK is `none`
#   WHY        why they differ, where they do
number() {
    if [ -n "${EXAMPLES_TABLE:-}" ]; then
        printf 'number\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "${5:-}"
    else
        printf '  %-58s %12s   of the work: %s\n' "$1" "$3" "$2"
    fi
}

# beside WHAT EXPECTED HERE TOLERANCE WHY: a row of a number that the work does not print, and that theory or a forecast expects: the run ends
# where it is further from that than TOLERANCE.
beside() {
    awk -v expected="$2" -v here="$3" -v within="$4" 'BEGIN { away = here - expected; exit (away < 0 ? -away : away) > within + 1e-9 }' ||
        die "$1: $3 (expected $2, at most $4 away)"
    number "$1" none "$3" none "$2 is expected, within $4: $5"
}

# numbers < LINES: a row each, of what a script found: WHAT, WORK, HERE, TOLERANCE and WHY, if any, with tabs between them.
numbers() {
    while IFS="$(printf '\t')" read -r what work found tolerance why; do
        number "$what" "$work" "$found" "$tolerance" "$why"
    done
}

# picture FILE: put into the folder that EXAMPLES_OUT names, if any; table.sh compares it with the one beside run.sh.
picture() {
    if [ -n "${EXAMPLES_OUT:-}" ]; then
        mkdir -p "$EXAMPLES_OUT"
        cp "$1" "$EXAMPLES_OUT/"
    fi
}

# stand_in WHY: the numbers of this run are of other data than those in the table; the tolerances still hold.
stand_in() {
    if [ -n "${EXAMPLES_TABLE:-}" ]; then
        printf 'stand-in\t%s\n' "$1"
    else
        printf 'Stand-in data: %s\n' "$1"
    fi
}

# Sets $python (its standard library is all that is used), or ends the run: 77, skipped; 1 where BANDMILL_REQUIRE_PYTHON=1.
need_python() {
    python=${BANDMILL_PYTHON:-python3}
    if ! command -v "$python" > /dev/null; then
        echo "skipped: no Python ($python)"
        [ "${BANDMILL_REQUIRE_PYTHON:-0}" = 1 ] && exit 1
        exit 77
    fi
    export PYTHONDONTWRITEBYTECODE=1
}

# shared_data PATH: prints where PATH lies among data that stand beside the tree, or in $BANDMILL_TEST_CORPORA; fails where they do not.
shared_data() {
    data=${BANDMILL_TEST_CORPORA:-$root/../shared/data}
    [ -e "$data/$1" ] && printf '%s\n' "$data/$1"
}
