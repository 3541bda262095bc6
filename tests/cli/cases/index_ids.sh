# SPDX-License-Identifier: Apache-2.0
# index add --duplicate-ids: error, skip, replace, number; against the index, and within one input.
# shellcheck shell=sh disable=SC2034,SC2154
line() { printf '{"id":"%s","text":"%s"}\n' "$1" "$2"; }
text() { echo "$1 alpha beta gamma delta epsilon zeta eta theta $1"; }
{ line a "$(text one)"; line b "$(text two)"; line c "$(text three)"; } > first.jsonl
{ line d "$(text four)"; line b "$(text five)"; line d "$(text six)"; line b "$(text seven)"; } > second.jsonl
built() { rm -rf idx; bm index build idx first.jsonl -q; exits 0; }
# holding N: so many documents, and the structure is sound
holding() {
    bm index check idx; exits 0
    bm index info idx; says ../out "^  documents: $1$"
}
# has ID 0|1: removing it says whether it is there
has() {
    cp -r idx copy
    bm index remove copy "$1" -q; exits "$2"
    rm -r copy
}

built
bm index add idx second.jsonl
refused 3 "second.jsonl:2: the id 'b' is in the index already, from first.jsonl:2 \(ids must differ"
holding 3; has d 1
head -n 3 second.jsonl | sed 2d > within.jsonl
bm index add idx within.jsonl; refused 3 "within.jsonl:2: the id 'd' is in the index already, from within.jsonl:1 "
# an error in earlier records comes first, an error in later records second
{ cat second.jsonl; echo '{"id":'; } > later.jsonl
bm index add idx later.jsonl; refused 3 'later.jsonl:2: the id '
bm index build dup second.jsonl; refused 3 "second.jsonl:3: the id 'd' is in the index already, from second.jsonl:1 "; absent dup

bm index add idx second.jsonl --duplicate-ids skip; exits 0; says ../err '3 were not added, for their ids are there'
holding 4; has d 0

built
bm index add idx second.jsonl --duplicate-ids number; exits 0; says ../err '3 were added under the next number'
holding 7
for id in d d#2 b b#2 b#3; do has "$id" 0; done
has b#4 1
line b "$(text eight)" > third.jsonl
bm index add idx third.jsonl --duplicate-ids number -q; exits 0; has b#4 0; has b#5 1

built
bm index add idx second.jsonl --duplicate-ids replace; exits 0; says ../err '3 were replaced by documents of the same id'
holding 4
# the last of each stays: five and two are gone, seven is there
query() { line q "$(text "$1")" > q.jsonl; rm -rf copy; cp -r idx copy; bm index add copy q.jsonl --unique -q; exits 0; }
query seven; says ../out '^q	b	1.000000$'
query six; says ../out '^q	d	1.000000$'
for gone in two four five; do query $gone; [ "$(wc -l < ../out)" = 1 ] || fail "$gone is still there"; done
bm index compact idx -q; exits 0; holding 4; query seven; says ../out '^q	b	1.000000$'

# ids as they are
printf '{"id":"t\\tab \\\\ \\u00e9","text":"%s"}\n' "$(text odd)" > odd.jsonl
bm index add idx odd.jsonl -q; exits 0
printf 't\\tab \\\\ \303\251\n' > ids
bm index remove idx --ids ids -q; exits 0
printf '{"id":"","text":"x"}\n' > empty.jsonl
bm index add idx empty.jsonl; refused 3 'empty.jsonl:1: the id is empty'
