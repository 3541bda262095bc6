# SPDX-License-Identifier: Apache-2.0
# If the last step fails (writing the report, a histogram or standard output), nothing is at any target, and earlier outputs are unchanged.
# shellcheck shell=sh disable=SC2034,SC2154
printf '{"id":"a","text":"one two three four five six"}\n{"id":"b","text":"one two three four five six"}\n' > in.jsonl
bm dedup in.jsonl -o result --pairs; exits 0
# A name that is allowed, but not with what it has while it is written: it fails when all else is done.
long=$(printf 'r%.0s' 1 2 3 4 5)
long=$long$long$long$long$long$long$long$long$long$long
long=$long$long$long$long$long
too_long='r+: .*[Ff]ile name too long'

nothing() { # nothing there but what was there before
    checks=$((checks + 1))
    left=$(ls -A | grep -vxE 'in\.jsonl|result|earlier|fifo')
    [ -z "$left" ] || fail "left: $left"
}

bm pairs in.jsonl -o p.tsv --report "$long"; refused 4 "$too_long"; nothing
bm pairs in.jsonl -o p.tsv --histogram "$long"; refused 4 "$too_long"; nothing
bm pairs in.jsonl -o p.tsv --histogram h.tsv --histogram-svg "$long"; refused 4 "$too_long"; nothing
bm pairs in.jsonl -o p.tsv --histogram h.tsv --histogram-svg h.svg --report "$long"; refused 4 "$too_long"; nothing
bm pairs in.jsonl --histogram h.tsv --report "$long"; exits 4; nothing
bm pairs in.jsonl -o new/deep/p.tsv --histogram new/h.tsv --report "new/other/$long"; refused 4 "new/other/$too_long"; nothing
for command in 'sign in.jsonl' 'dedup in.jsonl' 'filter result'; do
    # shellcheck disable=SC2086 # words
    bm $command -o out --report "$long"; refused 4 "$too_long"; nothing
    # shellcheck disable=SC2086
    bm $command -o new/out --report "new/$long"; refused 4 "new/$too_long"; nothing
done

# full ARGS…: standard output is a disk that is full; and a reader that is gone
full() {
    command_line="bandmill $* > /dev/full"
    "$PROGRAM" "$@" > /dev/full 2> ../err; rc=$?
    : > ../out
    exits 4
    says ../err 'standard output: .*[Nn]o space'
    nothing
    command_line="bandmill $*, to a reader that is gone"
    "$PROGRAM" "$@" >&9 2> ../err; rc=$?
    exits 141
    silent ../err
    nothing
}
if [ -w /dev/full ]; then
    mkfifo fifo
    exec 8<> fifo 9> fifo 8<&- # a pipe that had a reader
    rm fifo
    full pairs in.jsonl --report r.json -q
    full pairs in.jsonl --histogram h.tsv --histogram-svg h.svg -q
    full pairs in.jsonl -o p.tsv --json
    full pairs in.jsonl -o p.tsv --histogram h.tsv --report r.json --json
    for command in 'sign in.jsonl' 'dedup in.jsonl' 'filter result'; do
        # shellcheck disable=SC2086
        full $command -o out --json
        # shellcheck disable=SC2086
        full $command -o new/out --report new/r.json --json
    done
    exec 9>&-
fi

# over earlier outputs: those stay
mkdir earlier
bm pairs in.jsonl -o earlier/p.tsv --threshold 0.9 --histogram earlier/h.tsv --report earlier/r.json; exits 0
bm sign in.jsonl -o earlier/sign; exits 0
bm dedup in.jsonl -o earlier/dedup; exits 0
cp -R earlier ../before
stay() {
    checks=$((checks + 1))
    diff -r earlier ../before > ../differing || fail "the earlier outputs changed: $(head -n 3 ../differing)"
    nothing
}
bm pairs in.jsonl -o earlier/p.tsv --report "$long" --force; refused 4 "$too_long"; stay
bm pairs in.jsonl -o earlier/p.tsv --histogram earlier/h.tsv --report "$long" --force; refused 4 "$too_long"; stay
for command in sign dedup; do
    bm $command in.jsonl -o earlier/$command --report "$long" --force; refused 4 "$too_long"; stay
    [ -w /dev/full ] || continue
    command_line="bandmill $command --force > /dev/full"
    "$PROGRAM" $command in.jsonl -o earlier/$command --report earlier/r.json --force --json > /dev/full 2> ../err; rc=$?
    exits 4; stay
done
# and where nothing fails they are replaced
bm pairs in.jsonl -o earlier/p.tsv --histogram earlier/h.tsv --report earlier/r.json --force --threshold 1; exits 0
says earlier/r.json '"threshold": 1'
nothing

# Outputs that appear while the job runs: what the other one wrote stays, and nothing of ours does.
mkfifo fifo
late() { # late PATH ARGS…: PATH appears when the input was read from
    path=$1
    shift
    "$PROGRAM" "$@" < fifo > ../out 2> ../err &
    job=$!
    exec 3> fifo
    { head -n 1 in.jsonl; yes '' | head -c 200000; } >&3 # more than a pipe holds: it was read from
    echo theirs > "$path"
    tail -n 1 in.jsonl >&3
    exec 3>&-
    command_line="bandmill $*, and $path appears"
    wait $job
    rc=$?
    refused 2 "$path: .*"
    echo theirs | holds "$path"
    rm "$path"
    nothing
}
late r.json pairs - -o p.tsv --histogram h.tsv --report r.json
late h.tsv pairs - -o p.tsv --histogram h.tsv --report r.json
late r.json dedup - -o out --report r.json
late r.json sign - -o out --report r.json
late out dedup - -o out --report r.json
late out sign - -o out --report r.json

# With --resume a report of this very job may stand there: of a job that is done, or was killed among its last renames. Another's may not.
bm dedup in.jsonl -o earlier/again --report earlier/again.json; exits 0
bm dedup in.jsonl -o earlier/again --report earlier/again.json --resume; exits 0
checks=$((checks + 1))
cmp -s earlier/again.json earlier/again/report.json || fail "the report changed"
rm -r earlier/again
bm dedup in.jsonl -o earlier/again --report earlier/again.json; refused 2 'earlier/again\.json: the output exists already'
bm dedup in.jsonl -o earlier/again --report earlier/again.json --threshold 0.7 --resume; refused 2 'earlier/again\.json: the output exists already'
bm dedup in.jsonl -o earlier/again --report earlier/again.json --resume; exits 0
checks=$((checks + 1))
cmp -s earlier/again.json earlier/again/report.json || fail "the report is not that of the output"
bm dedup in.jsonl -o earlier/new --report earlier/p.tsv --resume; refused 2 'earlier/p\.tsv: the output exists already'
[ ! -e earlier/new ] || fail "an output"
