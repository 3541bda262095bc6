# SPDX-License-Identifier: Apache-2.0
# Many short documents with little memory: columns are in files, and every output is the same as with enough memory.
# shellcheck shell=sh disable=SC2154
seq 300000 | awk '{
    s = int(($1 + 1) / 3) # the text of three documents, of which the first two have a word of their own
    printf "{\"id\":\"document %d\",\"text\":\"", $1
    for (i = 0; i < 9; i++) printf "w%d ", (s * 7919 + i * 104729) % 99991
    print ($1 % 3 ? $1 : "") "\"}"
}' > in.jsonl
for memory in 8G 29M; do # 64M were needed for rows and ids in memory, and 32M for columns of matching and grouping
    bm dedup in.jsonl --memory $memory --threads 2 --temp-dir . -o out.$memory -q --kept no; exits 0
done
for file in groups.jsonl removed.tsv sources.tsv; do
    holds out.29M/$file < out.8G/$file
done
# lengths and sources are ranked without all rows in memory (46M were needed for them)
for memory in 8G 30M; do
    bm dedup in.jsonl --keep 'sources:in*,longest' --memory $memory --threads 2 --temp-dir . -o keep.$memory -q --kept no; exits 0
done
for file in groups.jsonl removed.tsv; do
    holds keep.30M/$file < keep.8G/$file
done
# many bands, of which those labels alone stay that are shared (70M were needed for those of all)
for memory in 8G 56M; do
    bm dedup in.jsonl --bands 32 --rows 4 --memory $memory --threads 2 --temp-dir . -o bands.$memory -q --kept no; exits 0
done
for file in groups.jsonl removed.tsv; do
    holds bands.56M/$file < bands.8G/$file
done
# numbered ids
sed 's/"document [0-9]*\([0-9][0-9][0-9][0-9]\)"/"\1"/' in.jsonl > again.jsonl
for memory in 8G 64M; do
    bm dedup again.jsonl --duplicate-ids number --memory $memory --threads 2 --temp-dir . -o again.$memory -q --kept no; exits 0
done
for file in groups.jsonl removed.tsv; do
    holds again.64M/$file < again.8G/$file
done
# a repeated id is named with the place of the first
{ cat in.jsonl; sed -n 17p in.jsonl; } > twice.jsonl
bm dedup twice.jsonl --memory 48M --threads 2 --temp-dir . -o twice -q; refused 3 '.*twice.jsonl:300001: .*the id .document 17. was seen before, at .*twice.jsonl:17 .*'
