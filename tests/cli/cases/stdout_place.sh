# SPDX-License-Identifier: Apache-2.0
# If standard output is a file that the command reads or that another output would replace, the command is refused before anything is read.
# shellcheck shell=sh disable=SC2034,SC2154
printf '{"id":"a","text":"one two three four five six"}\n{"id":"b","text":"one two three four five six"}\n' > in.jsonl
bm dedup in.jsonl -o result --pairs; exits 0
cp in.jsonl ../before
ln in.jsonl hard.jsonl

into() { # into FILE ARGS…: standard output goes behind what FILE holds
    file=$1
    shift
    command_line="bandmill $* >> $file"
    "$PROGRAM" "$@" >> "$file" 2> ../err
    rc=$?
    : > ../out
}

into in.jsonl pairs in.jsonl; refused 2 'standard output is the input in\.jsonl'
into hard.jsonl pairs in.jsonl; refused 2 'standard output is the input in\.jsonl'
into in.jsonl pairs ./in.jsonl -o new --json; exits 2
into in.jsonl dedup in.jsonl -o new --json; exits 2; says ../err '"message":"standard output is the input in.jsonl'
into in.jsonl sign in.jsonl -o new --json; exits 2
holds in.jsonl < ../before
into in.jsonl dedup in.jsonl -o quiet -q; exits 0 # nothing goes there
holds in.jsonl < ../before
into result/pairs.tsv cluster result/pairs.tsv; refused 2 'standard output is the input result/pairs\.tsv'
into list pairs --files-from list; refused 2 'standard output is the input list'
command_line='bandmill pairs - < in.jsonl >> in.jsonl'
"$PROGRAM" pairs - < in.jsonl >> in.jsonl 2> ../err; rc=$?
refused 2 'standard output is the input -'
holds in.jsonl < ../before

for option in --report --histogram --histogram-svg; do
    rm -f rows
    into rows pairs in.jsonl $option rows --force; refused 2 'standard output is the output rows too'
    silent rows
done
into rows dedup in.jsonl -o new --json --report rows --force; exits 2
absent new

# ids that are names of files are ids
: > a
into a explain result a b; exits 0; says a '^group 1: '
into rows pairs in.jsonl --report other; exits 0; says rows '^a	b	1\.000000$'
