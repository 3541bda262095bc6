# SPDX-License-Identifier: Apache-2.0
# index build and add from directories that sign wrote: an index holds what the documents themselves give, their signatures as they are,
# or their sets, for which the inputs are read again.
# shellcheck shell=sh disable=SC2034,SC2154
i=0
while [ $i -lt 120 ]; do echo "{\"id\":\"d$i\",\"text\":\"text $((i / 2)) of many words here $((i / 2)) and $((i / 2)) there are some more of them $i\"}"; i=$((i + 1)); done > all.jsonl
head -n 70 all.jsonl > a.jsonl
tail -n +71 all.jsonl > b.jsonl
echo '{"id":"none","text":""}' >> b.jsonl
sed 's/"d/"q/' all.jsonl > q.jsonl
for part in a b; do bm sign $part.jsonl -o $part --shingle word:2 --perms 96 --seed 3 -q; exits 0; done
set -- --store signatures --threshold .5
bm index build docs a.jsonl b.jsonl --shingle word:2 --perms 96 --seed 3 "$@" -q; exits 0
bm index build sigs a b "$@"; exits 0; says ../err '121 documents read'; says ../err 'the index holds 121 documents'
bm index build more a "$@" -q; exits 0; bm index add more b -q; exits 0
bm query docs q.jsonl -q; exits 0; cp ../out want
[ "$(wc -l < want)" -gt 121 ] || fail "few answers"
for index in sigs more; do
    bm index check $index; exits 0
    bm index info $index; says ../out '^  documents: 121$'; says ../out '^  perms: 96$'; says ../out '^  seed: 3$'; says ../out '^  shingle: word:2$'
    bm query $index q.jsonl -q; exits 0; holds ../out < want
done
# unique, and ids
bm index build uni a "$@" --threshold .6 -q; exits 0
cp -r uni copy
bm index add uni b.jsonl --unique -q; exits 0; cp ../out rows
bm index add copy b --unique -q; exits 0; holds ../out < rows
bm index add more a; refused 3 "the id 'd0' is in the index already"
bm index add more a --duplicate-ids skip; exits 0; says ../err '0 added; the index holds 121'

# what does not fit
bm index build none a b.jsonl "$@"; refused 2 'signatures and documents together'
bm index build none a "$@" --seed 4; refused 2 '--seed 4 contradicts the signatures of a \(3\)'; absent none
bm index build none a "$@" --perms 128; refused 2 '128 permutations asked for, the signatures have 96'
bm sign b.jsonl -o other --seed 5 --perms 96 --shingle word:2 -q; exits 0
bm index build none a other "$@"; refused 7 '.*other.*: provenance.seed differs from that of a'
bm index add more other; refused 7 'other: provenance.seed differs from that of the index more'
bm index add more b --resume; refused 2 '--resume continues documents'
bm index build a/idx a "$@"; refused 2 'a/idx: the output lies in the input a'

# sets: the inputs are read again, as they were, wherever they are
bm index build of.docs a.jsonl b.jsonl --shingle word:2 --perms 96 --seed 3 --threshold .5 -q; exits 0
bm query of.docs q.jsonl -q; exits 0; cp ../out want
bm index build of.sigs a b --threshold .5; exits 0; says ../err 'the index holds 121 documents'
bm index build of.parts a --threshold .5 -q; exits 0
bm index add of.parts b -q; exits 0
for index in of.sigs of.parts; do
    bm index check $index; exits 0
    bm index info $index; says ../out '^  seed: 3$'; says ../out '^  shingle: word:2$'
    bm query $index q.jsonl -q; exits 0; holds ../out < want
done
bm index build of.uni a --threshold .6 -q; exits 0
cp -r of.uni of.copy
bm index add of.uni b.jsonl --unique -q; exits 0; cp ../out rows
bm index add of.copy b --unique -q; exits 0; holds ../out < rows
bm index add of.sigs a; refused 3 "a.jsonl:1: the id 'd0' is in the index already"
bm index add of.sigs a --duplicate-ids skip; exits 0; says ../err '0 added; the index holds 121'
bm index add of.sigs other; refused 7 'other: provenance.seed differs from that of the index of.sigs'
bm index build none a --seed 4; refused 2 '--seed 4 contradicts'
bm index build none a --format tsv; refused 2 '--format tsv contradicts'
bm index build a/idx a; refused 2 'a/idx: the output lies in the input a'
mkdir elsewhere
mv a.jsonl b.jsonl elsewhere
bm index build none a; refused 7 'a.jsonl: the file is not there any more.*--sources'; absent none
bm index build moved a b --threshold .5 --sources elsewhere -q; exits 0
bm query moved q.jsonl -q; exits 0; holds ../out < want
cp elsewhere/a.jsonl .
sed 's/many words/MANY words/' elsewhere/b.jsonl > b.jsonl # of the same size
bm index build none a b; refused 7 'b.jsonl: the file is not the one that b/manifest.json was made from \(its bytes differ\)'; absent none
cp -r of.copy was
bm index add of.copy b; refused 7 'b.jsonl: the file is not the one'
cmp was/data.mdb of.copy/data.mdb || fail "the index has changed"
"$PROGRAM" sign - -q -o piped < a.jsonl
bm index build none piped; refused 7 '.*standard input, which cannot be read again'; absent none
