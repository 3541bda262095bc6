#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# table.sh [--check|--write] [NAME...] -- the numbers of the examples, and the table of them, numbers.tsv.
#
#   table.sh           runs the examples (all, or those named) and prints their rows
#   table.sh --check   fails (1) where a number is further from that of the work than its example allows, or where the rows in numbers.tsv,
#                      or the pictures beside a run.sh, are not those that the run makes
#   table.sh --write   puts the rows into numbers.tsv and the pictures beside run.sh, if all numbers hold
#
# A run.sh that ends with 77 is skipped: 77, if none failed. What the lines of a run.sh are: frame.sh, `number`.
set -eu
LC_ALL=C
export LC_ALL
here=$(cd "$(dirname "$0")" && pwd)
tab=$(printf '\t')
mode=print
case ${1:-} in
--check | --write)
    mode=${1#--}
    shift
    ;;
-*)
    sed -n '3,11s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
# shellcheck disable=SC2046 # names of folders hold no blanks
[ $# -gt 0 ] || set -- $(cd "$here" && for run in */run.sh; do printf '%s\n' "${run%/run.sh}"; done)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# rows NAME < lines of a run: the rows of the table; on stderr, and 1, what does not hold.
rows() {
    awk -F '\t' -v name="$1" '
        function number(text) { return text ~ /^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$/ }
        function bad(what) { printf "%s: %s: %s\n", name, $2, what > "/dev/stderr"; failed = 1 }
        $1 != "number" { next }
        NF != 6 || $2 == "" || $3 == "" || $4 == "" { bad("not a line of a number: " $0); next }
        seen[$2]++ { bad("stands twice") }
        {
            n++
            work = $3; allowed = $5
            if ($5 == "none") {
                if ($3 != "none") bad("a number of the work needs a tolerance")
                work = "–"; allowed = ""
            } else if ($5 == "exact") {
                if ($4 != $3) bad($4 " (the work: " $3 ")")
                allowed = ""
            } else if (!number($5) || !number($3) || !number($4)) bad("not numbers: " $3 ", " $4 " within " $5)
            else {
                away = $4 - $3
                if (away < 0) away = -away
                if (away > $5 + 1e-9) bad($4 " (the work: " $3 ", at most " $5 " away)")
                if ($4 != $3 && $6 == "") bad("differs, and does not say why")
            }
            printf "%s\t%s\t%s\t%s\t%s\t%s\n", name, $2, work, $4, allowed, $6
        }
        END {
            if (!n) { printf "%s: no number\n", name > "/dev/stderr"; failed = 1 }
            exit failed
        }'
}

# table_rows NAME: the rows of NAME that numbers.tsv has.
table_rows() {
    awk -F '\t' -v name="$1" 'NR > 1 && $1 == name' "$here/numbers.tsv"
}

# put NAME: numbers.tsv with the rows of $work/NAME.rows in place of those that it has, in the order of names.
put() {
    {
        head -n 1 "$here/numbers.tsv"
        { awk -F '\t' -v name="$1" 'NR > 1 && $1 != name' "$here/numbers.tsv"; cat "$work/$1.rows"; } | sort -s -t "$tab" -k 1,1
    } > "$work/numbers.tsv"
    cat "$work/numbers.tsv" > "$here/numbers.tsv"
}

# pictures NAME: whether those that the run made are those beside run.sh.
pictures() {
    for made in "$work/$1.files"/*; do
        [ -e "$made" ] || continue
        cmp "$made" "$here/$1/${made##*/}" || return 1
    done
}

failed=0
skipped=0
for name in "$@"; do
    [ -f "$here/$name/run.sh" ] || { echo "table.sh: no example $name" >&2; exit 2; }
    status=0
    EXAMPLES_TABLE=1 EXAMPLES_OUT=$work/$name.files sh "$here/$name/run.sh" > "$work/$name.out" || status=$?
    if [ "$status" = 77 ]; then
        tail -n 1 "$work/$name.out"
        skipped=77
        continue
    fi
    if [ "$status" != 0 ]; then
        cat "$work/$name.out" >&2
        echo "$name: run.sh ended with $status" >&2
        failed=1
        continue
    fi
    rows "$name" < "$work/$name.out" > "$work/$name.rows" || { failed=1; continue; }
    if [ "$mode" = print ]; then
        cat "$work/$name.rows"
    elif grep "^stand-in$tab" "$work/$name.out" | sed "s/^stand-in$tab/$name: not compared with the table: /" | grep .; then
        :
    elif [ "$mode" = write ]; then
        put "$name"
        [ ! -d "$work/$name.files" ] || cp "$work/$name.files"/* "$here/$name/"
    else
        if ! table_rows "$name" | diff - "$work/$name.rows"; then
            echo "$name: the rows of numbers.tsv (<) are not those of this run (>): examples/table.sh --write $name" >&2
            failed=1
        fi
        if ! pictures "$name"; then
            echo "$name: a picture is not that of this run: examples/table.sh --write $name" >&2
            failed=1
        fi
    fi
done
[ "$failed" = 0 ] || exit 1
exit "$skipped"
