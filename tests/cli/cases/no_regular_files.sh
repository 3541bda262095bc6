# SPDX-License-Identifier: Apache-2.0
# no_regular_files: a FIFO, a socket, a device is never opened as a document or as a file of ours, wherever a path leads to one: nothing
# waits for a writer that never comes, and the error says which file it is and what. Standard input and pipes that the program is given as
# descriptors (process substitution) are read.
# shellcheck shell=sh disable=SC2034,SC2154
bounded() { # ARGS...: as bm, but something that waits is stopped, which is exit code 124
    command_line="bandmill $*"
    timeout -k 5 600 "$PROGRAM" "$@" > ../out 2> ../err
    rc=$?
}
for i in 1 2 3; do echo "{\"id\":\"d$i\",\"text\":\"one two three four five six seven eight\"}"; done > in.jsonl
mkfifo fifo
ln -s fifo link.jsonl

# as documents
for path in fifo link.jsonl /dev/null /dev/zero; do
    bounded sign $path -o out; refused 3 "$path: is no regular file \(it is a (FIFO|character device)\)"; absent out
done
bounded dedup in.jsonl fifo --format jsonl --on-error skip -o out; exits 0
says out/skipped.tsv '^fifo	1	.*is no regular file \(it is a FIFO\)'
bounded filter out -o kept.jsonl; exits 0
rm -r out kept.jsonl
mkdir walked; cp in.jsonl walked/a.jsonl; mkfifo walked/manifest.json walked/b.jsonl
bounded dedup walked -o out; exits 0 # no directory of ours: what is no file of it is left out
says out/sources.tsv '^walked/a\.jsonl	'
[ "$(wc -l < out/sources.tsv)" -eq 2 ] || fail "other sources: $(cat out/sources.tsv)"
rm -r out

# lists, arrays, pairs, parameters
bounded sign --files-from fifo -o out; refused 3 'fifo: is no regular file'
bounded sign --format hashes fifo --offsets in.jsonl -o out; refused 3 'fifo: is no regular file'
bounded sign --format hashes in.jsonl --offsets /dev/zero -o out; exits 3
bounded cluster fifo; refused 3 'fifo: is no regular file'
bounded inspect fifo; refused 7 'fifo: is no regular file'

# each file of a directory of ours
bm sign in.jsonl -o signed; exits 0
bm dedup in.jsonl -o result --pairs; exits 0
for dir in signed result; do
    for file in "$dir"/*; do
        mv "$file" ../kept; mkfifo "$file"
        for command in "pairs signed" "dedup signed -o out" "inspect $dir" "filter result -o kept.jsonl" "explain result d1 d3"; do
            # shellcheck disable=SC2086 # commands are words
            bounded $command
            checks=$((checks + 1))
            [ "$rc" != 124 ] && [ "$rc" != 137 ] || fail "it waits where $file is a FIFO"
            rm -rf out kept.jsonl
        done
        rm "$file"; mv ../kept "$file"
    done
done
mv result/report.json ../kept; mkfifo result/report.json
bounded explain result d1 d3; refused 7 'result/report\.json: is no regular file \(it is a FIFO\)'
bounded filter result -o kept.jsonl; refused 7 'result/report\.json: is no regular file'
rm result/report.json; mv ../kept result/report.json

# What is given as a descriptor is read: - and its names, process substitution, a list too.
bounded pairs - < in.jsonl; exits 0; [ "$(wc -l < ../out)" -eq 4 ] || fail "pairs of standard input"
cat in.jsonl | bounded pairs --format jsonl /dev/stdin; exits 0; [ "$(wc -l < ../out)" -eq 4 ] || fail "pairs of /dev/stdin"
cat in.jsonl | "$PROGRAM" sign --format jsonl /dev/fd/0 -o piped 2> ../err; rc=$?; exits 0
[ "$(wc -l < piped/ids.txt)" -eq 3 ] || fail "documents of /dev/fd/0"
bounded pairs - < /dev/null; exits 0
if command -v bash > /dev/null; then
    command_line="process substitution"
    PROGRAM="$PROGRAM" bash -c '"$PROGRAM" dedup --format jsonl <(cat in.jsonl) -o substituted && "$PROGRAM" sign --files-from <(echo in.jsonl) -o listed &&
        "$PROGRAM" cluster <(cat result/pairs.tsv)' > ../out 2> ../err
    rc=$?; exits 0
    [ "$(wc -l < listed/ids.txt)" -eq 3 ] || fail "documents of a list from a pipe"
    says ../out '"size":3'
fi
