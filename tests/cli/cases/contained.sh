# SPDX-License-Identifier: Apache-2.0
# dedup --verify contained: documents are sets of words (word:1), 64 bands of one row. whole {1..20}; half {1..10} is held by it; most {1..9,x} by
# nine tenths of ten; copy is half again, in the same order; twin {1..20} in another order has all of whole. other {50..69} is alone, with part {50..59}.
# shellcheck shell=sh disable=SC2034,SC2086,SC2154
words() { seq -f 'w%g' -s ' ' "$1" "$2"; }
doc() { printf '{"id":"%s","text":"%s"}\n' "$1" "$2"; }
{
    doc half "$(words 1 10)"; doc whole "$(words 1 20)"; doc most "$(words 1 9) x"; doc copy "$(words 1 10)"
    doc twin "$(words 11 20) $(words 1 10)"; doc other "$(words 50 69)"; doc part "$(words 50 59)"; doc empty ""
} > in.jsonl
plan='--shingle word:1 --threshold 0.3 --bands 64 --rows 1'

bm dedup in.jsonl $plan --verify contained -o all -v; exits 0
says ../err '^bandmill: a document that is wholly contained in another is found with 100\.0 %, 100\.0 %, 100\.0 %, 99\.99 % where it has 1, \.8, \.5, \.2 of its shingles$'
says ../err '^bandmill: 4 kept, 4 removed \(50\.0 %\): 4 contained$'
says ../err '^bandmill: removed: .* 50 shingles, 0 of them \(0\.0 %\) not in the document kept instead$'
holds all/removed.tsv <<'END'
id	kept	jaccard	reason	file	line	lost
half	whole	0.500000	contained	in.jsonl	1	0
copy	whole	0.500000	contained	in.jsonl	4	0
twin	whole	1.000000	contained	in.jsonl	5	0
part	other	0.500000	contained	in.jsonl	7	0
END
holds all/groups.jsonl <<'END'
{"group":1,"kept":"whole","size":4,"members":["half","whole","copy","twin"]}
{"group":2,"kept":"other","size":2,"members":["other","part"]}
END
grep -E '"(whole|most|other|empty)"' in.jsonl | holds all/kept.jsonl
says all/report.json '"verify": "contained"'
says all/report.json '"containment": 1'
says all/report.json '"containment_recall"'

# .9 of ten shingles is nine: as it is, not as a double has it
for c in .9 0.90; do
    bm dedup in.jsonl $plan --verify contained=$c -q --force -o nine; exits 0
    says nine/removed.tsv '^most	whole	0\.428571	contained	in\.jsonl	3	1$'
done
bm dedup in.jsonl $plan --verify contained=.91 -q -o more; exits 0
holds more/removed.tsv < all/removed.tsv

# the pairs that hold in either direction; the order of keeping; the same from signatures; filter, explain, report
bm dedup in.jsonl $plan --verify contained --pairs -q -o pairs; exits 0
holds pairs/removed.tsv < all/removed.tsv
holds pairs/pairs.tsv <<'END'
id_a	id_b	jaccard
half	whole	0.500000
half	copy	1.000000
half	twin	0.500000
whole	twin	1.000000
other	part	0.500000
END
bm dedup in.jsonl $plan --verify contained --keep shortest -q -o short; exits 0
holds short/removed.tsv <<'END'
id	kept	jaccard	reason	file	line	lost
copy	half	1.000000	identical	in.jsonl	4	0
twin	whole	1.000000	contained	in.jsonl	5	0
END
bm sign in.jsonl --shingle word:1 --perms 64 -q -o signed; exits 0
bm dedup signed --threshold 0.3 --bands 64 --rows 1 --verify contained -q -o from; exits 0
for file in removed.tsv groups.jsonl kept.jsonl; do holds from/$file < all/$file; done
bm filter all -q -o filtered; exits 0
for dir in all pairs; do
    bm explain $dir half whole; exits 0
    says ../out 'half and whole themselves: 0\.500000$'
    bm explain $dir copy twin --json; exits 0
    says ../out '"cluster":"contained"'
    bm report $dir -o page.html --force -q; exits 0
    says page.html 'pairs of which one holds the other'
done

# a removed.tsv, edited on purpose, that does not say how similar two documents are: it is not known
cp -r all edited
sed -i '/^half/s/0\.500000//' edited/removed.tsv
sed -i "s/\"report_xxh3_128\"/\"was\"/; /outputs_xxh3_128/d; s/\"removed.tsv\":\"[0-9a-f]*\"/\"removed.tsv\":\"$(sha256sum < edited/removed.tsv | cut -d ' ' -f 1)\"/" edited/report.json
bm explain edited half whole; exits 0
says ../out '^half and whole themselves: not known$'

# refused
mv in.jsonl away.jsonl
bm dedup signed --threshold 0.3 --bands 64 --rows 1 --verify contained -o no; refused 7 'in\.jsonl'
mv away.jsonl in.jsonl
bm index build words in.jsonl $plan --store signatures -q; exits 0
bm dedup in.jsonl --against words --verify contained -o no; refused 7 'words: it has only the signatures'
for c in 0 1.1 -1 .9x '' .1234567890123456 1e-3; do bm dedup in.jsonl $plan --verify contained=$c -o no; refused 2 '.*--verify'; done
bm dedup in.jsonl $plan --verify exact=.9 -o no; refused 2 '.*--verify'
bm dedup in.jsonl $plan --verify contained --cluster components -o no; refused 2 '.*--cluster'
bm dedup in.jsonl $plan --verify contained --cluster star -o no; refused 2 '.*--cluster'
bm dedup in.jsonl $plan --verify contained --keep none -o no; refused 2 '.*--keep'
bm dedup in.jsonl --shingle word:1 --verify contained --weights tfidf -o no; refused 2 '.*--weights'
bm pairs in.jsonl $plan --verify contained; refused 2 '.*--verify'
bm query --targets in.jsonl in.jsonl $plan --verify contained; refused 2 '.*--verify'
absent no
