# SPDX-License-Identifier: Apache-2.0
# --force on a single file replaces an empty file and a file that begins like one of ours. Any other file is left unchanged.
# shellcheck shell=sh disable=SC2034,SC2154
printf '{"id":"a","text":"one two three four five six"}\n{"id":"b","text":"one two three four five six"}\n' > in.jsonl
bm dedup in.jsonl -o result --pairs; exits 0
cp result/pairs.tsv pairs.tsv

# what we write, under each option: replaced by each other option
bm pairs in.jsonl -o ours.pairs --report ours.report --histogram ours.histogram --histogram-svg ours.svg; exits 0
bm cluster pairs.tsv -o ours.groups; exits 0
bm cluster pairs.tsv --threshold 0.8,0.9 -o ours.table; exits 0
bm cluster pairs.tsv --threshold 0.8,0.9 --json -o ours.table_json; exits 0
bm explain result a b -o ours.chain; exits 0
bm explain result --group 1 -o ours.why; exits 0
bm explain result --group 1 --json -o ours.why_json; exits 0
bm explain result a b --dot -o ours.graph; exits 0
bm cluster pairs.tsv --threshold 0.8,0.9 --json -o ours.table_json --force; exits 0
: > ours.nothing
for file in ours.*; do
    bm pairs in.jsonl -o "$file"; refused 2 "$file: the output exists already \(--force replaces it\)"
    for option in -o --report --histogram --histogram-svg; do
        cp "$file" target
        bm pairs in.jsonl $option target --force -q; exits 0
        checks=$((checks + 1))
        [ -s target ] || fail "$option over $file: nothing was written"
    done
    cp "$file" target
    bm cluster pairs.tsv -o target --force; exits 0
    printf '{"group":1,"kept":"a","size":2,"members":["a","b"]}\n' | holds target
    cp "$file" target
    bm explain result a b -o target --force; exits 0
    says target '^group 1: 2 documents'
done
rm target

# what others write
foreign() { # foreign TEXT: it is not replaced
    printf '%b' "$1" > theirs
    cp theirs ../before
    for option in -o --report --histogram --histogram-svg; do
        bm pairs in.jsonl $option theirs --force -q
        refused 2 'theirs: begins unlike a file that bandmill writes \(--force replaces outputs of bandmill only; remove it by hand\)'
    done
    for command in sign dedup; do
        bm $command in.jsonl -o out --report theirs --force
        refused 2 'theirs: begins unlike a file that bandmill writes .*'
        absent out
    done
    bm cluster pairs.tsv -o theirs --force; refused 2 'theirs: begins unlike .*'
    bm explain result a b -o theirs --force; refused 2 'theirs: begins unlike .*'
    holds theirs < ../before
}
foreign 'mine\n'
foreign '\n'
foreign ' '
foreign 'id_a\tid_b\n'
foreign 'id_a\tid_b\tjaccard'
foreign 'id_a\tid_b\tjaccard\tand more\n'
foreign '{"id":"a","text":"one two three four five six"}\n'
foreign '{"group":'
foreign '{"group":"a","members":[]}\n'
foreign '{"schema":1,"kind":"theirs"}\n'
foreign '{\n  "schema": 1,\n  "tool": "another",\n  "kind": "pairs"\n}\n'
foreign '<svg xmlns="http://www.w3.org/2000/svg">\n<title id="title">Similarities of pairs</title></svg>\n'
foreign 'group of documents\n'
foreign 'graph mine {\n}\n'
foreign '\0\0\0\0'
if [ "$(id -u)" -ne 0 ]; then
    chmod a-r theirs
    bm pairs in.jsonl -o theirs --force; refused 4 'theirs: .*[Pp]ermission'
    chmod u+r theirs
fi
[ "$(find . -name '*.partial*')" = "" ] || fail "left: $(find . -name '*.partial*')"
