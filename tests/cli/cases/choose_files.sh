# SPDX-License-Identifier: Apache-2.0
# --include and --exclude select among the files of a directory by the path below it. Files that are named as inputs themselves are not
# affected.
# shellcheck shell=sh disable=SC2034,SC2154
mkdir -p corpus/2023 corpus/2024/tmp
for name in 2023/a.jsonl 2024/b.jsonl 2024/tmp/c.jsonl d.jsonl; do
    printf '{"id":"%s","text":"words of %s"}\n' "$name" "$name" > "corpus/$name"
done
printf 'not a record\n' > corpus/README.md
printf 'not a record\n' > corpus/2024/notes.txt

# ids_are 'ID ID …' OPTIONS…: of sign with these options
ids_are() {
    wanted=$1
    shift
    bm sign "$@" -o out; exits 0
    printf '%s\n' "$wanted" | tr ' ' '\n' | holds out/ids.txt
    rm -rf out
}
ids_are '2023/a.jsonl 2024/b.jsonl 2024/tmp/c.jsonl d.jsonl' corpus --include '*.jsonl'
ids_are '2023/a.jsonl 2024/b.jsonl 2024/tmp/c.jsonl d.jsonl' corpus/ --exclude '*.md' --exclude '*.txt'
ids_are '2024/b.jsonl d.jsonl' corpus --include '*.jsonl' --exclude '*/tmp/*' --exclude '2023/*'
ids_are '2023/a.jsonl d.jsonl' corpus --include '2023/*' --include 'd.*'
ids_are '2024/b.jsonl' corpus//// --include '2024/?.jsonl'
ids_are '2024/b.jsonl 2024/tmp/c.jsonl' corpus/2024 --include '[!n]*'
ids_are 'd.jsonl 2023/a.jsonl' corpus/d.jsonl corpus --include '2023/*' # a file that is named is read
printf 'corpus\n' > list
ids_are '2023/a.jsonl' --files-from list --include '2023/*'

bm sign corpus --include '*.tsv' -o out; refused 3 'corpus: .*--include.*--exclude.*6'; absent out
bm sign corpus/d.jsonl --include '*.tsv' -o out; exits 0; rm -r out

# dedup, filter over the same directory, pairs
bm dedup corpus --include '*.jsonl' --exclude '*tmp*' -o find; exits 0
says find/report.json '"records": ?3\b'
bm filter find corpus --include '*.jsonl' --exclude '*tmp*' -o clean; exits 0
for name in 2023/a.jsonl 2024/b.jsonl d.jsonl; do holds "clean/kept/$name" < "find/kept/$name"; done
bm filter find corpus --include '*.jsonl' -o more; refused 7 'find/report\.json: it names 3 inputs, 4 are given'; absent more
bm pairs corpus --include '*/b.jsonl' --include d.jsonl --threshold 0.1 --candidates all --shingle word:1; exits 0
printf 'id_a\tid_b\tjaccard\n2024/b.jsonl\td.jsonl\t0.500000\n' | holds ../out

bm dedup corpus -o out --include; refused 2 '--include'
