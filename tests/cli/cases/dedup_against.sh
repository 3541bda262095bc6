# SPDX-License-Identifier: Apache-2.0
# dedup --against: known documents of an index, or of signatures; what of it is refused; filter, explain, inspect and --resume of the result.
# With 40 bands of one row no pair at .5 is missed. The documents are words w1 w2 …: J of w1…w20 and w3…w22 is 18/22.
# shellcheck shell=sh disable=SC2086,SC2154
words() { seq -f 'w%g' -s ' ' "$1" "$2"; }
doc() { printf '{"id":"%s","text":"%s"}\n' "$1" "$2"; }
plan='--shingle word:1 --threshold 0.7 --bands 40 --rows 1'
{ doc k1 "$(words 1 20)"; doc k2 "$(words 101 120)"; doc k3 "$(words 102 121)"; doc same "$(words 301 320)"; } > known.jsonl
{
    doc a "$(words 3 22)"     # .818 to k1
    doc b "$(words 5 24)"     # .818 to a, .667 to k1: chained
    doc c "$(words 201 220)"  # alone, with d
    doc d "$(words 201 221)"
    doc e "$(words 101 120)"  # k2 itself; .905 to k3
    doc f "$(words 105 124)"  # .739 to k3, .667 to k2
    doc same "$(words 301 321)" # the id of a known one
    doc g "w900"
    doc h ""
    doc i "$(words 101 120)"  # a copy of e
} > new.jsonl
bm index build index known.jsonl $plan; exits 0

bm dedup --against index new.jsonl -o out; exits 0
says ../err 'removed \([0-9.]+ %\): [45] known'
holds out/removed.tsv <<'END'
id	kept	jaccard	reason	file	line	lost
a	k1	0.818182	known	new.jsonl	1	2
b	k1	0.666667	chained	new.jsonl	2	4
d	c	0.952381	near	new.jsonl	4	1
e	k2	1.000000	known	new.jsonl	5	0
f	k3	0.739130	known	new.jsonl	6	3
same	same	0.952381	known	new.jsonl	7	1
i	k2	1.000000	known	new.jsonl	10	0
END
holds out/groups.jsonl <<'END'
{"group":1,"kept":"k1","size":2,"members":["a","b"],"known":["k1"]}
{"group":2,"kept":"c","size":2,"members":["c","d"]}
{"group":3,"kept":"k2","size":3,"members":["e","f","i"],"known":["k2","k3"]}
{"group":4,"kept":"same","size":1,"members":["same"],"known":["same"]}
END
grep -E '"id":"[cgh]"' new.jsonl > kept
holds out/kept.jsonl < kept
says out/report.json '"known": 5'
says out/report.json '"chained": 1'
says out/report.json '"removed": 7'
says out/report.json '"against": "index"'
tr -d ' \n' < out/report.json > flat
says flat '"against":\{"documents":4,"candidates":[0-9]+,"verified":[0-9]+,"not_compared":0,"found":4\}'

# what reads such a result
bm inspect out; exits 0
bm inspect out/groups.jsonl; exits 0
bm filter out -q -o filtered; exits 0
holds filtered/kept.jsonl < kept
bm filter out --annotate -q -o annotated; exits 0
says annotated/annotated.jsonl '"id":"same".*"bandmill": *\{"group": *4, *"size": *1, *"kept": *false, *"jaccard": *0.952381'
bm explain out --group 1; exits 0
says ../out 'k1, which is known, is kept'
bm explain out a b; exits 0
says ../out 'shortest chain'
bm explain out e f; exits 1 # only known ones join them
says ../err "no chain: known documents, such as 'k2', join the two"
bm explain out --group 4 --json; exits 0
says ../out '"kept": *"same", *"known": *true'

# star: only what reaches the threshold itself
bm dedup --against index new.jsonl --cluster star --pairs -o star; exits 0
cut -f 1,2,4 star/removed.tsv > rows
holds rows <<'END'
id	kept	reason
a	k1	known
d	c	near
e	k2	known
f	k3	known
same	same	known
i	k2	known
END
holds star/groups.jsonl <<'END'
{"group":1,"kept":"k1","size":1,"members":["a"],"known":["k1"]}
{"group":2,"kept":"c","size":2,"members":["c","d"]}
{"group":3,"kept":"k2","size":2,"members":["e","i"],"known":["k2"]}
{"group":4,"kept":"k3","size":1,"members":["f"],"known":["k3"]}
{"group":5,"kept":"same","size":1,"members":["same"],"known":["same"]}
END
holds star/pairs.tsv <<'END'
id_a	id_b	jaccard
a	b	0.818182
c	d	0.952381
e	i	1.000000
END

# --resume of what is done says so; of an index that has changed since it is another job
bm dedup --against index new.jsonl -o out --resume; exits 0
doc k4 "$(words 201 220)" > more.jsonl
bm index add index more.jsonl; exits 0
bm dedup --against index new.jsonl -o out --resume; exits 2
bm dedup --against index new.jsonl -o out --force; exits 0
says out/groups.jsonl '"kept":"k4","size":2,"members":\["c","d"\],"known":\["k4"\]'

# interrupted by a broken record, repaired, and gone on with: the same; but not with an index that has changed
broken() {
    { cat new.jsonl; echo '{"id":"z'; } > part.jsonl
    BANDMILL_SEAL_SECONDS=0 bm dedup --against index part.jsonl --batch-docs 2 -o part; exits 3
    [ -d part.partial ] || fail "nothing is sealed"
    cp new.jsonl part.jsonl
}
broken
bm dedup --against index part.jsonl -o part --resume; exits 0
holds part/groups.jsonl < out/groups.jsonl
cut -f 1-4 part/removed.tsv > rows
cut -f 1-4 out/removed.tsv | holds rows
rm -r part
broken
bm index remove index k4 -q; exits 0
bm dedup --against index part.jsonl -o part --resume; refused 7 '.*against_state'
bm index add index more.jsonl -q; exits 0
bm dedup --against index part.jsonl -o part --force -q; exits 0
holds part/groups.jsonl < out/groups.jsonl

# a threshold of its own; everything else is the index's
bm dedup --against index new.jsonl --threshold 0.9 -q -o high; exits 0
cut -f 1,2,4 high/removed.tsv > rows
holds rows <<'END'
id	kept	reason
c	k4	known
d	k4	known
e	k2	known
same	same	known
i	k2	known
END
bm dedup --against index new.jsonl --shingle word:2 -o no; refused 2 '.*--shingle'
bm dedup --against index new.jsonl --bands 20 --rows 2 -o no; refused 2 '.*--(bands|rows)'
bm dedup --against index new.jsonl --seed 5 -o no; refused 2 '.*--seed'
bm dedup --against index new.jsonl --verify signature -o no; refused 2 '.*--verify'
bm dedup --against index new.jsonl --verify none -o no; refused 2 '.*--verify'
bm dedup --against index new.jsonl -o index/out; refused 2 '.*'
bm dedup --against index new.jsonl -o index --force; refused 2 '.*'
bm dedup --against index new.jsonl -o no --report index/data.mdb --force; refused 2 '.*'
bm dedup --against nowhere new.jsonl -o no; refused 4 'nowhere: cannot open: No such file or directory'
bm pairs --against index new.jsonl; exits 2
absent no

# nothing known, nothing new
: > none.jsonl
bm index build empty none.jsonl $plan -q; exits 0
bm dedup --against empty new.jsonl -q -o none; exits 0
bm dedup new.jsonl $plan -q -o alone; exits 0
for file in removed.tsv groups.jsonl kept.jsonl; do holds none/$file < alone/$file; done
bm dedup --against index none.jsonl -q -o zero; exits 0
silent zero/groups.jsonl

# signatures: estimates, where they are asked for. 40 of 40 words are the same for copies alone.
bm sign known.jsonl --shingle word:1 --perms 40 -q -o signed; exits 0
bm dedup --against signed new.jsonl --verify signature --threshold 1 --bands 40 --rows 1 -q -o by; exits 0
cut -f 1,2,3,4 by/removed.tsv > rows
holds rows <<'END'
id	kept	jaccard	reason
e	k2	1.000000	known
i	k2	1.000000	known
END
bm sign new.jsonl --shingle word:1 --perms 40 -q -o new.signed; exits 0
bm dedup --against signed new.signed --verify signature --threshold 1 --bands 40 --rows 1 -q -o both; exits 0
holds both/groups.jsonl < by/groups.jsonl
bm sign new.jsonl --shingle word:2 --perms 40 -q -o other.signed; exits 0
bm dedup --against signed other.signed --verify signature --threshold 1 --bands 40 --rows 1 -q -o no; refused 7 ''
absent no
