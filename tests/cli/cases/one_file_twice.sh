# SPDX-License-Identifier: Apache-2.0
# Two options that lead to one file, by different spellings or links, are refused before anything is read. The input is a pipe without a
# writer, so a program that opened it would hang.
# shellcheck shell=sh disable=SC2034,SC2154
mkfifo pipe
printf '{"id":"a","text":"one two three four five six"}\n{"id":"b","text":"one two three four five six"}\n' > in.jsonl
mkdir d mine
ln -s d alias
ln -s mine/deep/none broken

once() { # once COMMAND INPUT OPTIONS…: refused without a look at the input
    command_line="bandmill $*"
    timeout 600 "$PROGRAM" "$@" > ../out 2> ../err
    rc=$?
    refused 2 '.*(two outputs in one file|the output (is|lies in|lies above) the (in|out)put|temporary files would lie in the output|is a symbolic link)'
    [ "$(ls -A d)" = "" ] || fail "something was left in d: $(ls -A d)"
}

# outputs, of names that are not there yet
for other in p ./p d/../p alias/../p .//p "$PWD/p" ../here/p; do
    once pairs pipe -o p --report "$other"
    once pairs pipe -o p --histogram "$other"
    once pairs pipe -o p --histogram-svg "$other"
    once pairs pipe --report p --histogram "$other"
    once pairs pipe --histogram p --histogram-svg "$other"
    for command in sign dedup; do
        once $command pipe -o p --report "$other"
        once $command pipe -o p/ --report "$other"
    done
done
once pairs pipe -o d/p --report alias/p
once pairs pipe -o alias/x/p --report d/x/p
once pairs pipe -o new/deep/p --histogram new/other/../deep/p
once filter none -o p --report d/../p

# one in another
once dedup pipe -o d/out --report d/out/report.json
once dedup pipe -o d/out --report alias/out/deep/report.json
once dedup pipe -o d/out --report d/out.partial
once dedup pipe -o d/out --report d/out.partial/report.json
once sign pipe -o d/out/deep --report d/out
once pairs pipe -o d/p/q --report d/p
once pairs pipe -o d/p --histogram d/p/q
mkdir out
once dedup pipe -o out --temp-dir out
once dedup pipe -o out --temp-dir ./d/../out
mkdir old.partial
once dedup pipe -o old --temp-dir old.partial
rmdir out old.partial

# outputs that are there, replaced: one file under two names
bm pairs in.jsonl -o rows; exits 0
cp rows ../rows
ln rows again
once pairs pipe -o rows --report again --force
once pairs pipe -o again --histogram d/../rows --force
rm again

# an output that is an input, or a list of inputs
echo pipe > list
ln list linked
for list in list ./list alias/../list linked; do
    once pairs --files-from "$list" -o list --force
    once dedup --files-from "$list" -o new --report list --force
    once pairs --files-from "$list" -o new --histogram list --force
done
once filter none --files-from list -o new --report list --force
rm linked
once pairs --format hashes numbers.npy --offsets rows -o ./rows --force
once pairs pipe --report pipe --force
once dedup pipe -o ./pipe
ln in.jsonl hard
: > ../before
cat in.jsonl > ../before
once pairs in.jsonl -o hard --force
once pairs pipe in.jsonl -o new --report hard --force
cmp -s in.jsonl ../before || fail "the input was changed"

# a directory of signatures, and a result, are inputs like others
bm sign in.jsonl -o signatures; exits 0
bm dedup in.jsonl -o result --pairs; exits 0
for output in signatures signatures/x ./alias/../signatures/groups.jsonl; do
    once pairs signatures -o $output --force
    once pairs signatures -o new --report $output --force
    once pairs signatures --histogram $output --force
    once dedup signatures -o $output --force
done
for output in result result/pairs.tsv alias/../result/x; do
    once filter result -o $output --force
    once filter result -o new --report $output --force
    once explain result --group 1 -o $output --force
done
once cluster result/pairs.tsv -o ./alias/../result/pairs.tsv --force
once cluster rows -o rows --force

# what standard input is read from
command_line='bandmill cluster - -o rows --force < rows'
"$PROGRAM" cluster - -o rows --force < rows > ../out 2> ../err; rc=$?
refused 2 'rows: the output is the input -'
command_line='bandmill pairs - -o rows --force < rows'
"$PROGRAM" pairs - --format lines -o rows --force < rows > ../out 2> ../err; rc=$?
refused 2 'rows: the output is the input -'
"$PROGRAM" pairs --files-from - -o new --report rows --force < rows > ../out 2> ../err; rc=$?
refused 2 'rows: the output is the input -'
holds rows < ../rows

# inputs that only the report of a directory names
printf 'id_a\tid_b\tjaccard\nshared\tshared\t1.000000\nshared\tshared\t1.000000\n' > lines.tsv
bm dedup --format lines lines.tsv -o of_lines; exits 0
cp lines.tsv ../lines
bm explain of_lines --group 1 -o lines.tsv --force; refused 2 'lines\.tsv: the output is the input'
holds lines.tsv < ../lines

# one that is not there is no other's
bm pairs in.jsonl -o p --report d/p --histogram d/q; exits 0
bm dedup in.jsonl -o d/out --report d/out.json --temp-dir d; exits 0
bm dedup in.jsonl -o d/out.partial.too --report d/out.partial.json; exits 0
