# SPDX-License-Identifier: Apache-2.0
# overlap and dedup: known texts in files of several formats, each recognised by its name; commands that read the result; refusals.
# shellcheck shell=sh disable=SC2086,SC2154
words() { seq -f 'w%g' -s ' ' "$1" "$2"; }
{
    printf '{"id":"one","text":"%s"}\n' "$(words 1 40)"
    printf '{"id":"two","text":"%s"}\n' "$(words 101 140)"
    printf '{"id":"three","text":"%s"}\n' "$(words 201 240)"
    printf '{"id":"four","text":"%s"}\n' "$(words 301 340)"
    printf '{"id":"none","text":"%s"}\n' "$(words 901 940)"
} > train.jsonl
mkdir tests
printf '{"qid":1,"question":"%s"}\n' "$(words 1 20)" > tests/a.jsonl
printf 'qid,question\n2,"%s\n%s"\n5,"%s"\n' "$(words 101 110)" "$(words 111 120)" "$(words 1 30)" > tests/b.csv
printf '[{"qid":3,"question":"%s"}]' "$(words 201 220)" | gzip > tests/c.json.gz
words 301 320 > passage.txt
fields='--against-text-field question --against-id-field qid'
bm overlap train.jsonl --against tests --against passage.txt $fields -o out; exits 0
says ../err '5 of 5 items found'
cut -f 1,2,9 out/overlap.tsv > rows
holds rows <<'END'
id	item	line
one	1	1
one	5	1
two	2	2
three	3	3
four	passage.txt	4
END
cut -f 1,6,7 out/items.tsv > rows
holds rows <<'END'
item	file	line
1	tests/a.jsonl	1
2	tests/b.csv	2
5	tests/b.csv	4
3	tests/c.json.gz	1
passage.txt	passage.txt	1
END
grep '"id":"none"' train.jsonl > kept
holds out/kept.jsonl < kept
tr -d ' \n' < out/report.json > flat
says flat '"input_format":"mixed"'

# in another order; empty and blank files among them; one thread and small batches; interrupted by a bad record
: > tests/d.json
bm overlap train.jsonl --against passage.txt --against tests/d.json --against tests/c.json.gz --against tests/b.csv --against tests/a.jsonl $fields \
    -o other --threads 1 --batch-docs 1; exits 0
cut -f 2 out/overlap.tsv | sort > wanted
cut -f 2 other/overlap.tsv | sort | diff - wanted || fail "another order finds other items"
echo '{"qid":6' > tests/e.jsonl
bm overlap train.jsonl --against tests $fields -o bad; exits 3
says ../err 'tests/e.jsonl:1: '
bm overlap train.jsonl --against tests $fields -o skipped --on-error skip; exits 0
cut -f 1-3 out/overlap.tsv | grep -v passage > wanted
cut -f 1-3 skipped/overlap.tsv | diff - wanted || fail "a bad record among the items"
rm tests/e.jsonl
printf '{"qid":2,"question":"again"}\n' > again.jsonl
bm overlap train.jsonl --against tests --against again.jsonl $fields -o again; exits 3
says ../err "again.jsonl:1: .*'2'.*tests/b.csv:2"

# both texts are found again, in files of any of the formats
bm explain out 2 two; exits 0
says ../out 'item 2, line 2 of tests/b.csv'
says ../out '\[\[w101 '
bm explain out passage.txt four; exits 0
says ../out '^ *\[\[w301 .* w320\]\]'
bm report out -q -o out.html; exits 0
says out.html 'passage.txt'
bm inspect out; exits 0

# dedup knows them in the same way
plan='--shingle word:1 --threshold 0.4 --bands 40 --rows 1'
bm dedup train.jsonl --against tests --against passage.txt $fields $plan -o known; exits 0
cut -f 1,2,4 known/removed.tsv > rows
holds rows <<'END'
id	kept	reason
one	5	known
two	2	known
three	3	known
four	passage.txt	known
END

# a file whose name tells nothing is a document only where it is named itself; --format holds for the documents alone
echo 'Read me.' > tests/README
bm overlap train.jsonl --against tests $fields -o refused; exits 2
says ../err 'tests/README: its name tells no format, and tests/a.jsonl beside it is jsonl .give the path of each file'
bm overlap train.jsonl --against tests/README --against tests/a.jsonl $fields -o named; exits 0
bm overlap train.jsonl --format jsonl --against passage.txt --against tests/b.csv $fields -o said; exits 0
bm overlap train.jsonl --against tests/b.csv --against passage.txt --against-text-field answer --against-id-field qid -o refused; exits 3
says ../err 'tests/b.csv.*answer'
bm overlap train.jsonl --format mixed --against passage.txt -o refused; exits 2
