# SPDX-License-Identifier: Apache-2.0
# dedup --against documents, such as a test set: removed as by an index of them, never written; refusals; --resume.
# With 40 bands of one row no pair at .5 is missed. The documents are words w1 w2 ...: J of w1...w20 and w3...w22 is 18/22.
# shellcheck shell=sh disable=SC2086,SC2154
words() { seq -f 'w%g' -s ' ' "$1" "$2"; }
doc() { printf '{"id":"%s","text":"%s"}\n' "$1" "$2"; }
item() { printf '{"qid":%s,"question":"%s","text":"of another kind"}\n' "$1" "$2"; }
plan='--shingle word:1 --threshold 0.7 --bands 40 --rows 1'
{
    doc 1 "$(words 3 22)"    # .818 to question 1
    doc 2 "$(words 5 24)"    # .818 to the one before, .667 to question 1: chained
    doc c "$(words 201 220)" # alone, with d
    doc d "$(words 201 221)"
    doc e "$(words 101 120)" # question 2 itself
    doc f "$(words 901 920)"
} > train.jsonl
mkdir tests
{ item 1 "$(words 1 20)"; item 3 "$(words 501 520)"; } > tests/a.jsonl
item 2 "$(words 101 120)" > tests/b.jsonl
printf 'qid,question\n7,"%s"\n' "$(words 901 920)" > more.csv
fields='--against-text-field question --against-id-field qid'

bm dedup train.jsonl --against tests $fields $plan --pairs -o out; exits 0
holds out/removed.tsv <<'END'
id	kept	jaccard	reason	file	line	lost
1	1	0.818182	known	train.jsonl	1	2
2	1	0.666667	chained	train.jsonl	2	4
d	c	0.952381	near	train.jsonl	4	1
e	2	1.000000	known	train.jsonl	5	0
END
holds out/groups.jsonl <<'END'
{"group":1,"kept":"1","size":2,"members":["1","2"],"known":["1"]}
{"group":2,"kept":"c","size":2,"members":["c","d"]}
{"group":3,"kept":"2","size":1,"members":["e"],"known":["2"]}
END
grep -E '"id":"[cf]"' train.jsonl > kept
holds out/kept.jsonl < kept
[ "$(grep -c 'tests/' out/sources.tsv)" = 0 ] || fail "known documents are inputs"
tr -d ' \n' < out/report.json > flat
says flat '"against":"tests","against_state":"3documentsof2files[0-9a-f]{32}","against_text_fields":\["question"\],"against_id_field":"qid"'
says flat '"against":\{"documents":3,"candidates":[0-9]+,"verified":[0-9]+,"not_compared":0,"found":2\}'

# what reads such a result
bm filter out -q -o filtered; exits 0
holds filtered/kept.jsonl < kept
bm explain out --group 3; exits 0
says ../out '2, which is known, is kept'
bm report out -q -o out.html; exits 0

# several, of different formats, without ids; from signatures; by signature; on standard output
bm dedup train.jsonl --against tests/a.jsonl --against tests/b.jsonl $fields $plan -o two; exits 0
cut -f 1-4 two/removed.tsv > rows
cut -f 1-4 out/removed.tsv | holds rows
bm dedup train.jsonl --against more.csv --against-text-field question --against-id-field none $plan -o csv; exits 0
says csv/removed.tsv '^f	more.csv:2	1.000000	known'
bm sign train.jsonl --shingle word:1 -o signed -q; exits 0
bm dedup signed --against tests $fields --threshold 0.7 --bands 40 --rows 1 -o by; exits 0
holds by/groups.jsonl < out/groups.jsonl
cut -f 1-4 by/removed.tsv > rows
cut -f 1-4 out/removed.tsv | holds rows
bm dedup train.jsonl --against tests $fields $plan --verify signature --perms 128 -o estimated; exits 0
says estimated/removed.tsv '^e	2	1.000000	known'
bm dedup train.jsonl --against tests $fields $plan --verify contained=.9 -o held; exits 0
says held/removed.tsv '^1	1	0.818182	known'
bm dedup train.jsonl --against tests $fields $plan -o - -q; exits 0
holds ../out < kept

# without fields of its own, the fields of the inputs count
bm dedup train.jsonl --against train.jsonl $plan -o self; exits 0
holds self/kept.jsonl < /dev/null

# refusals, before anything is written
bm dedup train.jsonl --against - $plan -o x < tests/a.jsonl; refused 2 '.*--against.* standard input'
bm dedup train.jsonl --against signed --against tests $plan -o x; refused 2 '.*comes alone'
bm dedup train.jsonl --against signed --against-id-field qid -o x; refused 2 '.*signed has no fields'
bm dedup train.jsonl --against-text-field question -o x; refused 2 '.*--against-text-field without --against'
bm dedup train.jsonl --against tests $fields $plan --verify none -o x; refused 2 '.*--verify none'
bm dedup train.jsonl --against tests $fields --weights tfidf -o x; refused 2 '.*--weights'
bm dedup train.jsonl --against nowhere $plan -o x; refused 4 'nowhere: '
bm dedup train.jsonl --against tests $fields $plan -o tests/out; refused 2 '.*tests'
bm dedup train.jsonl --against tests $plan --against-text-field answer -o x; refused 3 "tests/a.jsonl:1: no field 'answer'"
[ ! -e x ] && [ ! -e x.partial ] || fail "something was written"

# --resume: the same known documents, or none
bm dedup train.jsonl --against tests $fields $plan --pairs -o out --resume; exits 0
{ cat train.jsonl; echo '{"id":"z'; } > part.jsonl
BANDMILL_SEAL_SECONDS=0 bm dedup --against tests part.jsonl $fields $plan --batch-docs 2 -o part; exits 3
[ -d part.partial ] || fail "nothing is saved"
cp train.jsonl part.jsonl
cp -r part.partial kept.partial
bm dedup --against tests part.jsonl $fields $plan -o part --resume; exits 0
holds part/groups.jsonl < out/groups.jsonl
rm -r part
mv kept.partial part.partial
item 4 "$(words 201 220)" >> tests/b.jsonl
bm dedup --against tests part.jsonl $fields $plan -o part --resume; refused 7 '.*against_state'

# messages about known documents name their own options
bm dedup train.jsonl --against more.csv $plan -o no; refused 3 "more\.csv:1: no field 'text' in the header \(--against-text-field names another"
sed 's/"text"/"body"/' tests/b.jsonl > other.jsonl
bm dedup train.jsonl --against other.jsonl $plan -o no; refused 3 "other\.jsonl:1: no field 'text' \(a string or null; --against-text-field names another"
bm dedup train.jsonl --against other.jsonl $plan -o skips --on-error skip; exits 0
says ../err "^bandmill: warning: other\.jsonl:1: skipped: no field 'text' \(a string or null; --against-text-field names another"
bm dedup train.jsonl --against tests --against-id-field no $plan -o no; refused 3 "tests.a\.jsonl:1: no field 'no' \(a string or a number; --against-id-field none names"
cat tests/b.jsonl tests/b.jsonl > twice.jsonl
bm dedup train.jsonl --against twice.jsonl $fields $plan -o no
refused 3 "twice\.jsonl:[0-9]+: the id '2' is among the known ones already, from twice\.jsonl:1 \(ids must differ; --duplicate-ids number makes them differ\)"
bm dedup train.jsonl --against twice.jsonl $fields $plan --duplicate-ids number -o numbered; exits 0
