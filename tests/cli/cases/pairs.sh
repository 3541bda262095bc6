# SPDX-License-Identifier: Apache-2.0
# pairs --sample, --histogram and --histogram-svg. With word:1 a document is the set of its words. Eight documents of ten words, each
# sharing words with the first: J(1,2) = 10/10, J(1,3) = 9/11, J(1,4) = 5/15; the others have words of their own.
# shellcheck shell=sh disable=SC2034,SC2154
cat > in.jsonl << 'END'
{"id":"1","text":"a b c d e f g h i j"}
{"id":"2","text":"j i h g f e d c b a"}
{"id":"3","text":"a b c d e f g h i z"}
{"id":"4","text":"a b c d e v w x y zz"}
{"id":"5","text":"k0 k1 k2 k3 k4 k5 k6 k7 k8 k9"}
{"id":"6","text":"l0 l1 l2 l3 l4 l5 l6 l7 l8 l9"}
{"id":"7","text":"m0 m1 m2 m3 m4 m5 m6 m7 m8 m9"}
{"id":"8","text":"n0 n1 n2 n3 n4 n5 n6 n7 n8 n9"}
END

# the histogram: 9/11 = 0.8181 twice (1-3, 2-3), 5/15 = 1/3 three times (1-4, 2-4, 3-4), 1 once (1-2)
bm pairs in.jsonl --shingle word:1 --candidates all --threshold 0.25 --histogram h.tsv --histogram-svg h.svg -o p.tsv; exits 0
[ "$(wc -l < p.tsv)" -eq 7 ] || fail "six pairs and a header were expected"
[ "$(wc -l < h.tsv)" -eq 101 ] || fail "a hundred bins and a header were expected"
head -n 1 h.tsv | grep -qx "$(printf 'low\thigh\tpairs')" || fail "header of the histogram"
awk -F '\t' 'NR > 1 && $3 > 0' h.tsv > some.tsv
printf '0.33\t0.34\t3\n0.81\t0.82\t2\n0.99\t1.00\t1\n' | holds some.tsv

# the picture is XML, and says what the rows say
if command -v "$PYTHON" > /dev/null; then
    "$PYTHON" - > picture.tsv << 'END' || fail "the picture is not well-formed, or its words are missing"
import xml.etree.ElementTree as tree
root = tree.parse("h.svg").getroot()
name = "{http://www.w3.org/2000/svg}"
assert root.tag == name + "svg" and root.get("role") == "img", root.tag
ids = {element.get("id"): element for element in root.iter() if element.get("id")}
assert all(ids[i].text for i in root.get("aria-labelledby").split()), "title and desc"
assert "6 pairs of 8 documents" in ids["desc"].text and "threshold 0.25" in ids["desc"].text, ids["desc"].text
assert any("threshold 0.25" == text.text for text in root.iter(name + "text"))
for bar in root.iter(name + "rect"):
    if bar.get("class") == "bar":
        print(bar.get("data-low"), f'{float(bar.get("data-low")) + .01:.2f}', bar.get("data-pairs"), sep="\t")
END
    checks=$((checks + 1))
    holds picture.tsv < some.tsv
fi
bm pairs in.jsonl --shingle word:1 --candidates all --threshold 0.25 --histogram-svg h2.svg -o p2.tsv --threads 1 --batch-docs 2; exits 0
holds h2.svg < h.svg
bm pairs in.jsonl --shingle word:1 --bands 128 --rows 1 --verify none --histogram h3.tsv; exits 0
[ "$(awk -F '\t' 'NR > 1 { n += $3 } END { print n }' h3.tsv)" = 0 ] || fail "pairs without a similarity were counted"

# length is a name for all: the same rows and the same report; nothing but exact verification; signatures give way no more than with all
bm pairs in.jsonl --shingle word:1 --candidates length --threshold 0.25 --histogram h4.tsv -o p4.tsv --report r4.json; exits 0
holds p4.tsv < p.tsv
holds h4.tsv < h.tsv
says r4.json '"candidates": "all"'
says r4.json '"plan": null'
for verify in signature none; do
    bm pairs in.jsonl --candidates length --verify $verify; refused 2 '--candidates length compares exactly'
done
bm pairs in.jsonl --candidates size; refused 2 '--candidates: .*size.*lsh all length'

# no output over an input, nor two in one place, whether --force is given or not; and all of that before anything is read
cp in.jsonl kept.jsonl
for option in --histogram --histogram-svg --report; do
    bm pairs in.jsonl -o forced.tsv --force "$option" in.jsonl; refused 2 'in\.jsonl: .*input'; absent forced.tsv
    bm pairs in.jsonl -o forced.tsv "$option" forced.tsv; refused 2 'forced\.tsv: two outputs'; absent forced.tsv
    : > plain; bm pairs in.jsonl -o forced.tsv "$option" plain/x; refused 4 'plain'; absent forced.tsv; rm plain
done
holds in.jsonl < kept.jsonl

# a sample: N documents in input order, the same for any threads and batches, another one for another seed
i=0
while [ $i -lt 500 ]; do
    echo "{\"id\":\"d$i\",\"text\":\"same words in every document here\"}"
    i=$((i + 1))
done > many.jsonl
bm pairs many.jsonl --sample 20 --identical chain --candidates all --report r.json; exits 0
says ../err '^bandmill: 500 documents'
says ../err '^bandmill: [0-9,]+ documents read; a sample of 20 of them, drawn by the seed 1$'
says r.json '"sample": ?\{'
[ "$(tr -d ' \n' < r.json | grep -o '"sample":{"documents":20,"of":500,"seed":1}')" ] || fail "the report says nothing of the sample"
[ "$(wc -l < ../out)" -eq 20 ] || fail "19 pairs and a header were expected"
cp ../out chain.tsv
cut -f 2 chain.tsv | sed 1d > second.txt
sort -t d -k 2 -n second.txt | holds second.txt
for options in "--threads 1 --batch-docs 3" "--threads 4 --batch-docs 100" "--threads 2 --batch-docs 500"; do
    # shellcheck disable=SC2086
    bm pairs many.jsonl --sample 20 --identical chain --candidates all -q $options; exits 0
    holds ../out < chain.tsv
    # shellcheck disable=SC2086
    bm pairs many.jsonl --sample 20 --identical chain -q $options; exits 0
    holds ../out < chain.tsv
done
bm pairs many.jsonl --sample 20 --seed 2 --identical chain --candidates all; exits 0
cmp -s ../out chain.tsv && fail "another seed drew the same"
bm pairs many.jsonl --identical chain --candidates all -q; exits 0; cp ../out all.tsv
bm pairs many.jsonl --sample 500 --identical chain --candidates all -q; exits 0; holds ../out < all.tsv
bm pairs many.jsonl --sample 501 --identical chain --candidates all; exits 0; holds ../out < all.tsv
says ../err 'a sample of 500 of them'
bm pairs - --sample 5 --identical chain -q < many.jsonl; exits 0
[ "$(wc -l < ../out)" -eq 5 ] || fail "4 pairs and a header were expected"

# a repeated id is an error, in the sample or not; signatures and other commands take no sample
tail -n 1 many.jsonl > again.jsonl
bm pairs many.jsonl again.jsonl --sample 1; refused 3 'again\.jsonl:1: '
bm pairs many.jsonl --sample 0; refused 2 '.*sample'
bm dedup many.jsonl --sample 3 -o out; refused 2 '.*sample'
bm sign many.jsonl -o sig; exits 0
bm pairs sig --sample 3; refused 2 '--sample takes documents, not signatures'

# a threshold of 0: every two documents that have shingles, in input order; nowhere else
bm pairs in.jsonl --shingle word:1 --candidates all --threshold 0 -o every.tsv --report every.json; exits 0
[ "$(wc -l < every.tsv)" -eq 29 ] || fail "28 pairs and a header were expected"
[ "$(grep -c '0\.000000$' every.tsv)" -eq 22 ] || fail "22 pairs that share nothing were expected"
says every.json '"threshold": 0,'
bm pairs in.jsonl --shingle word:1 --candidates all --threshold 0 --histogram-svg every.svg -o every2.tsv --memory 64M --threads 1; exits 0
holds every2.tsv < every.tsv
bm pairs in.jsonl --threshold 0; refused 2 '--threshold 0 lists every pair, which takes --candidates all'
for command in "dedup in.jsonl -o none" "query --targets in.jsonl in.jsonl" "sign in.jsonl -o none"; do
    # shellcheck disable=SC2086
    bm $command --threshold 0; refused 2 '--threshold: unusable value "0"'
done

# containment: 4 has five of its ten words in 1, 2 and 3; a short document is contained whole, and stands first
cat in.jsonl - > contained.jsonl << 'END'
{"id":"9","text":"a b c"}
END
bm pairs contained.jsonl --shingle word:1 --measure containment --threshold 0.5 --report contained.json; exits 0
holds ../out << 'END'
id_a	id_b	containment
1	2	1.000000
1	3	0.900000
1	4	0.500000
2	3	0.900000
2	4	0.500000
3	4	0.500000
9	1	1.000000
9	2	1.000000
9	3	1.000000
9	4	1.000000
END
says contained.json '"candidates": "all"'
says contained.json '"measure": "containment"'
bm pairs contained.jsonl --shingle word:1 --measure containment --threshold 0.95 --identical chain --candidates all --json; exits 0
holds ../out << 'END'
{"id_a":"1","id_b":"2","containment":1}
{"id_a":"9","id_b":"1","containment":1}
{"id_a":"9","id_b":"2","containment":1}
{"id_a":"9","id_b":"3","containment":1}
{"id_a":"9","id_b":"4","containment":1}
END
bm pairs contained.jsonl --shingle word:1 --measure containment --threshold 0.5 -o ours.tsv; exits 0
bm inspect ours.tsv; exits 0
says ../out '^least_containment: 0\.5$'
bm cluster ours.tsv; refused 3 'ours\.tsv:1: its pairs are of containment, which joins no groups'
bm pairs contained.jsonl --measure containment --force -o ours.tsv; exits 0
bm pairs in.jsonl --measure containment --candidates lsh; refused 2 '--measure containment compares every pair .--candidates all.'
bm pairs in.jsonl --measure containment --verify signature; refused 2 '--candidates all compares exactly'
bm pairs in.jsonl --measure containment --weights tfidf; refused 2 '--weights with --measure containment'
bm pairs in.jsonl --measure overlap; refused 2 '--measure: .*overlap.*jaccard containment'

# edit distances: of the texts as they were read, so copies have one too; empty where it takes more than 10^10 cells, which is counted
cat > edit.jsonl << 'END'
{"id":"1","text":"a b c d e f g h i j"}
{"id":"apart","text":"not in any pair"}
{"id":"2","text":"A b c,d  e f g h i j"}
{"id":"3","text":"a b c d e f g h i z\u00e9"}
END
printf 'id_a\tid_b\tjaccard\tedit\n1\t2\t1.000000\t3\n1\t3\t0.818182\t2\n2\t3\t0.818182\t5\n' > edit.wanted
bm pairs edit.jsonl --shingle word:1 --threshold 0.5 --edit; exits 0
holds ../out < edit.wanted
bm pairs edit.jsonl --shingle word:1 --threshold 0.5 --edit -o edit.tsv --report edit.json; exits 0
says edit.json '"edit": 1'
bm pairs edit.jsonl --shingle word:1 --threshold 0.5 --edit -o edit.tsv --force; exits 0
holds edit.tsv < edit.wanted
bm inspect edit.tsv; exits 0; says ../out '^least_jaccard: 0\.818182$'
bm cluster edit.tsv; exits 0; says ../out '"members":\["1","2","3"\]'
printf 'id_a\tid_b\tjaccard\tedit\na\tb\t1.000000\t3 \n' > bad.tsv
bm cluster bad.tsv; refused 3 'bad\.tsv:2: edit is no whole number'
printf 'id_a\tid_b\tjaccard\tedit\na\tb\t1.000000\n' > bad.tsv
bm cluster bad.tsv; refused 3 'bad\.tsv:2: the row has another number of fields .expected 4.'
awk 'BEGIN { for (i = 0; i < 2; i++) { printf "{\"id\":\"%d\",\"text\":\"%d", i, i; for (k = 0; k < 51000; k++) printf " a"; print "\"}" } }' > long.jsonl
bm pairs long.jsonl --shingle word:1 --threshold 0.3 --edit --report long.json; exits 0; says ../err '1 pair has no edit distance: it takes more than 10.10 cells'
printf 'id_a\tid_b\tjaccard\tedit\n0\t1\t0.333333\t\n' | holds ../out
says long.json '"edit_unknown": 1'
bm pairs long.jsonl --shingle word:1 --threshold 0.3 --edit --json; exits 0; says ../out '"edit":null'
bm sign edit.jsonl -o edit.signed --shingle word:1 --device cpu; exits 0
bm pairs edit.signed --threshold 0.5 --edit; exits 0
holds ../out < edit.wanted
bm pairs edit.signed --threshold 0.5 --edit --verify signature; refused 2 '--edit needs texts, of which there are none'
