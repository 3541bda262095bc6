# SPDX-License-Identifier: Apache-2.0
# Outputs never replace a file that is not ours or an input, and are never left incomplete.
# shellcheck shell=sh disable=SC2034,SC2154
mkdir in
printf '{"id":"a","text":"one two three four five six"}\n{"id":"b","text":"one two three four five six"}\n' > in/a.jsonl
cp in/a.jsonl a.jsonl
cp a.jsonl ../before

untouched() {
    checks=$((checks + 1))
    cmp -s "$1" ../before || fail "$1 was changed"
}

bm dedup a.jsonl -o out; exits 0; silent ../out
bm dedup a.jsonl -o out; refused 2 '.*out.*--force'
bm sign a.jsonl -o out; refused 2 '.*out.*--force'
bm dedup a.jsonl -o out --force; exits 0
: > out/mine.txt
bm dedup a.jsonl -o out --force; refused 2 '.*mine\.txt'
[ -e out/mine.txt ] || fail "a file of the user's was removed"
rm -r out

mkdir dir && echo mine > dir/mine
bm dedup a.jsonl -o dir; refused 2 'dir'
bm dedup a.jsonl -o dir --force; refused 2 'dir'
printf 'mine\n' | holds dir/mine
echo mine > file
bm dedup a.jsonl -o file; refused 2 'file'
bm dedup a.jsonl -o file --force; refused 2 'file'
printf 'mine\n' | holds file
bm pairs a.jsonl -o file; refused 2 'file'
printf 'mine\n' | holds file
mkdir void
bm dedup in -o void/../in; exits 2
bm dedup void -o void; refused 2 'void: the output is the input void'
ln -s nowhere link
bm dedup a.jsonl -o link; refused 2 'link'
[ -L link ] || fail "the link went away"

# equal to, inside and above an input
for command in sign dedup; do
    for force in '' --force; do
        # shellcheck disable=SC2086
        bm "$command" a.jsonl -o a.jsonl $force; refused 2 'a\.jsonl'; untouched a.jsonl
        # shellcheck disable=SC2086
        bm "$command" in -o in $force; refused 2 'in'; untouched in/a.jsonl
        # shellcheck disable=SC2086
        bm "$command" in -o in/out $force; refused 2 'in/out'; untouched in/a.jsonl
        # shellcheck disable=SC2086
        bm "$command" in/a.jsonl -o . $force; exits 2; untouched in/a.jsonl
        # shellcheck disable=SC2086
        bm "$command" in/a.jsonl -o ./in/../in $force; exits 2; untouched in/a.jsonl
    done
done
[ "$(ls -A in)" = a.jsonl ] || fail "something was left in the input"
ln -s in alias
bm dedup in -o alias/out; exits 2
[ "$(ls -A in)" = a.jsonl ] || fail "something was left in the input, through a link"
bm pairs a.jsonl -o a.jsonl --force; refused 2 'a\.jsonl'; untouched a.jsonl
bm dedup a.jsonl -o a.jsonl/x/out; refused 4 'a\.jsonl/x'; untouched a.jsonl

# a report or histogram over an input
bm pairs a.jsonl -o p.tsv --report a.jsonl; exits 2; untouched a.jsonl
bm pairs a.jsonl -o p.tsv --histogram a.jsonl; exits 2; untouched a.jsonl

# a disk that is full
if [ -w /dev/full ]; then
    command_line='bandmill pairs a.jsonl > /dev/full'
    "$PROGRAM" pairs a.jsonl > /dev/full 2> ../err; rc=$?
    : > ../out
    refused 4 'standard output: '
    "$PROGRAM" dedup a.jsonl -o full --json > /dev/full 2> ../err; rc=$?
    exits 4
    "$PROGRAM" help > /dev/full 2> ../err; rc=$?
    refused 4 'standard output: '
fi
i=0
while [ $i -lt 3000 ]; do
    echo "{\"id\":$i,\"text\":\"unlike $i $((i * 7919)) $((i * 104729)) any other $((i * 31)) text $((i * 17)) here\"}"
    i=$((i + 1))
done > many.jsonl
for command in sign dedup; do
    command_line="(limit of 16 kB a file) bandmill $command many.jsonl -o out"
    (trap '' XFSZ; ulimit -f 32; exec "$PROGRAM" "$command" many.jsonl -o out) > ../out 2> ../err; rc=$?
    refused 4 'out'
    absent out
done
mkdir small
if mount -t tmpfs -o size=64k none small 2> /dev/null; then
    for command in sign dedup; do
        bm "$command" many.jsonl -o small/out; refused 4 'small/out.*[Nn]o space'
        [ -z "$(ls -A small)" ] || fail "left on the full disk: $(ls -A small)"
    done
    umount small
fi

# closed descriptors
command_line='bandmill pairs a.jsonl >&-'
"$PROGRAM" pairs a.jsonl >&- 2> ../err; rc=$?
: > ../out
refused 4 'standard output: '
"$PROGRAM" dedup a.jsonl -o closed <&- >&- 2>&-; rc=$?
exits 0
says closed/report.json '"documents": ?2\b'
bm pairs - <&-; exits 4
