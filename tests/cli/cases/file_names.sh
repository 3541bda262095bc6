# SPDX-License-Identifier: Apache-2.0
# The ids of whole files are their names. Names that are not UTF-8 stay different from each other and from names that look like their
# escaped form, and every command that takes ids finds them.
# shellcheck shell=sh disable=SC2034,SC2154
fe=$(printf 'd/x\376'); ff=$(printf 'd/x\377')
mkdir d
text='one two three four five six seven eight nine ten'
echo "$text" > 'd/x\xfe'; echo "$text" > "$fe"; echo "$text eleven" > "$ff"; echo "nothing in common with those other texts" > 'd/y\z'
set -- --format files --shingle word:2 --threshold 0.5 --bands 128 --rows 1
bm sign d --format files --shingle word:2 -o sig; exits 0
printf '%s\n' 'd/x\\\\xfe' 'd/x\\xfe' 'd/x\\xff' 'd/y\\z' | holds sig/ids.txt
bm dedup d "$@" --pairs -o out; exits 0
printf '%s\n' '{"group":1,"kept":"d/x\\\\xfe","size":3,"members":["d/x\\\\xfe","d/x\\xfe","d/x\\xff"]}' | holds out/groups.jsonl
cut -f 1,2,5 out/removed.tsv | tail -n +2 > ../got
printf '%s\t%s\t%s\n' 'd/x\\xfe' 'd/x\\\\xfe' 'd/x\xfe' 'd/x\\xff' 'd/x\\\\xfe' 'd/x\xff' | holds ../got
printf '%s\n' 'd/x\\\\xfe' 'd/y\\z' | holds out/kept_ids.txt
bm filter out -o again; exits 0; holds again/kept_ids.txt < out/kept_ids.txt
bm dedup sig --threshold 0.5 --bands 128 --rows 1 --pairs -o staged; exits 0
for file in groups.jsonl removed.tsv kept_ids.txt pairs.tsv; do holds staged/$file < out/$file; done
bm cluster out/pairs.tsv --threshold 0.5 -o clusters.jsonl; exits 0; says clusters.jsonl '"d/x\\\\xfe","d/x\\\\\\\\xfe"|"d/x\\\\\\\\xfe","d/x\\\\xfe"'
bm explain out 'd/x\xfe' 'd/x\\xfe'; exits 0
bm explain out 'd/x\xff' 'd/x\xfe'; exits 0
bm explain out 'd/x\xfd' 'd/x\xfe'; exits 2; says ../err 'no document'

# an index: by operands, by a list as ids.txt is one, also behind a byte order mark
bm index build idx d "$@" -q; exits 0
bm index remove idx 'd/x\xfe' -q; exits 0
{ printf '\357\273\277'; grep ff sig/ids.txt; } > marked
bm index remove idx --ids marked; exits 0; says ../err '1 removed; the index holds 2 documents$'
bm query idx d --format files -o found.tsv; exits 0
bm index remove idx --ids sig/ids.txt -q; exits 1; says ../err ': 2 of the ids are not in the index$'

# lines have their file's name too
mkdir l; echo "$text" > "$(printf 'l/x\376')"; echo "$text" > "$(printf 'l/x\377')"
bm sign l --format lines -o lines; exits 0
printf '%s\n' 'l/x\\xfe:1' 'l/x\\xff:1' | holds lines/ids.txt
