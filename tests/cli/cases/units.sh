# SPDX-License-Identifier: Apache-2.0
# dedup --unit removes repeated lines and paragraphs from records of every format; all other bytes stay. filter repeats it; options without
# a meaning for it are refused. tests/reference/test_units.py compares it with a model.
# shellcheck shell=sh disable=SC2086,SC2154
cut='--min-words 3 -q'
head='id	from	to	kept	kept_from	jaccard	reason	file	line'

# --- json lines: escapes, several fields, lists; other bytes stay ---
{
    printf '{ "text" : "a b c d\\nmine", "id":"one", "x":[1, 2] }\r\n'
    printf '{"id":"two","text":"yours\\r\\na b c d\\n"}\n'
    printf '{"id":"three","text":" A, b: C d! \\n\\t"}\n'
    printf '{"id":"four","text":"caf\\u00e9 \\ud83d\\ude00 du coin\\n"}\n{"id":"five","text":"caf\303\251 \\ud83d\\ude00 du coin\\nend"}'
} > in.jsonl
bm dedup in.jsonl --unit line $cut -o out; exits 0
{
    sed -n 1p in.jsonl
    printf '{"id":"two","text":"yours\\r\\n"}\n'
    sed -n 4p in.jsonl
    printf '{"id":"five","text":"end"}'
} | holds out/kept.jsonl
{
    echo "$head"
    printf 'two\t7\t15\tone\t0\t1.000000\tidentical\tin.jsonl\t2\nthree\t0\t13\tone\t0\t1.000000\tequal\tin.jsonl\t3\n'
    printf 'five\t0\t19\tfour\t0\t1.000000\tidentical\tin.jsonl\t5\n'
} | holds out/cuts.tsv
printf 'id\tkept\tjaccard\treason\tfile\tline\tlost\nthree\t\t\tempty\tin.jsonl\t3\t\n' | holds out/removed.tsv
holds out/groups.jsonl <<'END'
{"group":1,"kept":["one",0],"size":3,"members":[["one",0],["two",7],["three",0]]}
{"group":2,"kept":["four",0],"size":2,"members":[["four",0],["five",0]]}
END
bm filter out -q -o again; exits 0; holds again/kept.jsonl < out/kept.jsonl
bm filter out --kept zst -q -o packed; exits 0
bm inspect out; exits 0
bm dedup in.jsonl --unit line --min-words 3 -o said; exits 0; says ../err '3 of 5 lines cut \(40 B of text\)'
for more in '--threads 1' '--threads 8 --memory 64M' --resume '--threshold 1'; do
    bm dedup in.jsonl --unit line $cut $more -o more --force; exits 0
    holds more/kept.jsonl < out/kept.jsonl; holds more/cuts.tsv < out/cuts.tsv; holds more/groups.jsonl < out/groups.jsonl
done
bm dedup in.jsonl --unit line $cut --keep-count 2 -o two; exits 0
printf '%s\nthree\t0\t13\tone\t0\t1.000000\tequal\tin.jsonl\t3\n' "$head" | holds two/cuts.tsv
bm dedup in.jsonl --unit line $cut --keep last -o last; exits 0
says last/cuts.tsv '^one	0	8	three	0	1.000000	equal'
bm dedup in.jsonl --unit line -q -o words; exits 0; echo "$head" | holds words/cuts.tsv # lines of fewer than 8 words stay
bm dedup in.jsonl --unit line $cut --kept no -o none; exits 0; holds none/cuts.tsv < out/cuts.tsv; absent none/kept.jsonl

printf '{"id":1,"t":["a b c d","x"],"u":"a b c d"}\n{"id":2,"t":["y",null,"a b c d"],"u":"z\\na b c d\\n"}\n' > parts.jsonl
bm dedup parts.jsonl --unit line $cut --text-field 't[]' --text-field u -o parts; exits 0
printf '{"id":1,"t":["a b c d","x"],"u":""}\n{"id":2,"t":["y",null,""],"u":"z\\n"}\n' | holds parts/kept.jsonl

# --- spans: from any word on; the first copy stays, and overlapping ones are cut as one ---
printf '{"id":1,"text":"x a b c d e"}\n{"id":2,"text":"y\\ta B, c\\nd e z a b c"}\n{"id":3,"text":"A b c d e!"}\n{"id":4,"text":"(b c d) e"}\n' > spans.jsonl
bm dedup spans.jsonl --unit span:3 --min-words 3 -o spans; exits 0; says ../err '4 spans cut \([0-9]+ B of text\)'
printf '{"id":1,"text":"x a b c d e"}\n{"id":2,"text":"y\\t z "}\n{"id":3,"text":"!"}\n{"id":4,"text":"("}\n' | holds spans/kept.jsonl
{
    echo "$head"
    printf '2\t2\t12\t1\t2\t1.000000\tequal\tspans.jsonl\t2\n2\t15\t20\t1\t2\t1.000000\tequal\tspans.jsonl\t2\n'
    printf '3\t0\t9\t1\t2\t1.000000\tequal\tspans.jsonl\t3\n4\t1\t9\t1\t4\t1.000000\tequal\tspans.jsonl\t4\n'
} | holds spans/cuts.tsv
absent spans/groups.jsonl
bm dedup spans.jsonl --unit span:3 --min-words 4 -o spans4 -q; exits 0; says spans4/kept.jsonl '"id":2,"text":"y..( z a b c)"'
printf '{"id":1,"text":"one two one two one two one"}\n' | "$PROGRAM" dedup - --unit span:2 --min-words 1 -q -o self || fail "of itself: $?"
printf '{"id":1,"text":"one two "}\n' | holds self/kept.jsonl
for bad in '--keep last' '--keep longest' '--keep max:x' '--keep none' '--shingle stopword:3' '--threshold 0.9' '--pairs' '--weights tfidf' \
    '--verify contained' '--against in.csv' '--cluster star' '--candidates all'; do
    bm dedup in.jsonl --unit span $bad -o never; refused 2 '--'; absent never
done

# --- --within: only among documents of one value ---
printf '{"id":1,"s":"x","text":"a b c"}\n{"id":2,"s":"y","text":"a b c"}\n{"id":3,"s":"x","text":"a b c"}\n{"id":4,"text":"a b c"}\n' > within.jsonl
for unit in line paragraph span:2; do
    bm dedup within.jsonl --unit $unit --min-words 3 --within s -o within --force; exits 0
    says ../err 'within s: 1 of 4 documents have no value there, 0 one of another type: no part of them is compared'
    sed 3d within.jsonl | holds within/kept.jsonl
    bm filter within -q -o again --force; exits 0; holds again/kept.jsonl < within/kept.jsonl
    bm dedup within.jsonl --unit $unit --min-words 3 --within none -o never
    refused 3 "--within none: no document has a field 'none' \(the first one has 'id', 's', 'text'\)"; absent never
done
bm dedup in.jsonl --within id -o never; refused 2 '--within without --unit'
bm dedup in.jsonl --unit line --within '' -o never; refused 2 '--within: unusable value'
printf 'a line\n' > one.txt
bm dedup one.txt --format lines --unit line --within s -o never; refused 2 "--within looks at field 's', and inputs of lines have no fields"

# --- near lines, pairs, and which one stays; the model is tests/reference/test_near_units.py ---
{
    printf '{"id":1,"n":5,"text":"a b c d e f g h i j\\nmine"}\n{"id":2,"n":7,"text":"A b c d e f g h i k\\n"}\n'
    printf '{"id":3,"n":6,"text":"x\\na b c d e f g h i j"}\n'
} > near.jsonl
set -- near.jsonl --unit line --shingle word:2 --min-words 3 -q
bm dedup "$@" --threshold 0.7 --pairs -o near; exits 0
printf '%s\n2\t0\t20\t1\t0\t0.800000\tnear\tnear.jsonl\t2\n3\t2\t21\t1\t0\t1.000000\tequal\tnear.jsonl\t3\n' "$head" | holds near/cuts.tsv
printf 'id_a\tfrom_a\tid_b\tfrom_b\tjaccard\n1\t0\t2\t0\t0.800000\n1\t0\t3\t2\t1.000000\n' | holds near/pairs.tsv
echo '{"group":1,"kept":["1",0],"size":3,"members":[["1",0],["2",0],["3",2]]}' | holds near/groups.jsonl
bm filter near -q -o near.again; exits 0; holds near.again/kept.jsonl < near/kept.jsonl
"$PROGRAM" dedup - --unit line --shingle word:2 --min-words 3 -q --threshold 0.7 -o near.piped < near.jsonl || fail "near lines of standard input: $?"
holds near.piped/kept.jsonl < near/kept.jsonl
for more in '--cluster star' '--candidates all' '--verify signature' '--max-group-size 9' '--bands 32 --rows 2'; do
    bm dedup "$@" --threshold 0.7 $more -o more --force; exits 0; holds more/kept.jsonl < near/kept.jsonl
done
bm dedup "$@" --threshold 0.7 --keep max:n -o max; exits 0; says max/cuts.tsv '^1	0	20	2	0	0.800000	near'
bm dedup "$@" --pairs -o pairs; exits 0
printf 'id_a\tfrom_a\tid_b\tfrom_b\tjaccard\n1\t0\t3\t2\t1.000000\n' | holds pairs/pairs.tsv
bm dedup "$@" --keep max:n -o max --force; exits 0; says max/cuts.tsv '^1	0	20	3	2	1.000000	equal'
bm dedup "$@" --threshold 0.7 --within n -o apart; exits 0; echo "$head" | holds apart/cuts.tsv

# --- other formats; a paragraph goes with the blank lines after it, and the first one with those before it ---
printf 'text,id\r\n"one two ""three""\r\n\r\nmine",a\r\n"yours\n\none two ""three""\n\n",b\r\n"\n\343\200\200\n\none two ""three""\n\nhis",c\r\n' > in.csv
bm dedup in.csv --unit paragraph $cut -o csv; exits 0
printf 'text,id\r\n"one two ""three""\r\n\r\nmine",a\r\n"yours\n\n",b\r\n"his",c\r\n' | holds csv/kept.csv
bm filter csv -q -o csv.again; exits 0; holds csv.again/kept.csv < csv/kept.csv
printf 'one two three\nother\none two  Three\n' > in.txt
bm dedup in.txt --format lines --unit line $cut -o lines; exits 0
printf 'one two three\nother\n' | holds lines/kept.txt
printf '[{"id":"a","text":"one two three"},{"id":"b","text":"x\\none two three"}, {"id":"c","text":"one two three"}]' > in.json
bm dedup in.json --unit line $cut -o json; exits 0
printf '[\n{"id":"a","text":"one two three"},\n{"id":"b","text":"x\\n"}\n]\n' | holds json/kept.json
bm filter json -q -o json.again; exits 0; holds json.again/kept.json < json/kept.json
record() { printf 'WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Record-ID: %s\r\nContent-Length: %s\r\n\r\n%s\r\n\r\n' "$1" "${#2}" "$2"; }
{ record a 'one two three'; record b 'one two three
and more'; } > in.warc.wet
bm dedup in.warc.wet --unit line $cut -o wet; exits 0
{ record a 'one two three'; record b 'and more'; } | holds wet/kept.warc.wet
gzip -c in.jsonl > in.jsonl.gz
bm dedup in.jsonl.gz --unit line $cut --kept none -o gz; exits 0; holds gz/kept.jsonl < out/kept.jsonl
"$PROGRAM" dedup - --unit line $cut -o piped < in.jsonl || fail "of standard input: $?"
holds piped/kept.jsonl < out/kept.jsonl

# --- the records that are left empty, as they were ---
bm dedup in.jsonl --unit line $cut --removed same -o removed; exits 0
holds removed/kept.jsonl < out/kept.jsonl
sed -n 3p in.jsonl | holds removed/removed.jsonl
bm dedup in.jsonl --unit line $cut --kept no --removed none -o removed --force; exits 0
sed -n 3p in.jsonl | holds removed/removed.jsonl; absent removed/kept.jsonl
bm dedup in.txt --format lines --unit line $cut --removed same -o removed --force; exits 0
printf 'one two  Three\n' | holds removed/removed.txt

# --- which one stays, by a length and a field, and among documents of one value ---
{
    printf '{"id":1,"n":5,"s":"x","text":"a b c"}\n{"id":2,"n":7,"s":"x","text":"a  b c"}\n{"id":3,"n":7,"s":"x","text":"a   b c"}\n'
    printf '{"id":4,"n":7,"s":"y","text":"A B C"}\n{"id":5,"s":"y","text":"a, b, c"}\n{"id":6,"text":"a b c"}\n'
} > ranks.jsonl
stays() { # IDS OPTION…: the documents that are not left empty
    ids=$1
    shift
    bm dedup ranks.jsonl --unit line --min-words 3 "$@" -o ranks --force; exits 0
    sed 's/.*"id":\([0-9]*\).*/\1/' ranks/kept.jsonl | tr '\n' ' ' | grep -qx "$ids " || fail "$*: others stay than $ids"
}
stays 3 --keep max:n,longest
stays 2 --keep order:id=2,longest
stays 4 --keep max:n,shortest,last
says ../err '^bandmill: warning: keep max:n: 2 of 6 documents have no value there, 0 one of another type'
stays '3 5 6' --within s --keep longest
stays '1 4 6' --within s --keep min:n
stays '3 4 6' --within s --keep max:n,longest
says ../err 'within s: 1 of 6 documents have no value there, 0 one of another type: no part of them is compared'
bm dedup ranks.jsonl --unit line --keep max:none --within s -o never; refused 3 "--keep max:none: no document has a field 'none'"

# --- refused ---
for bad in '--weights tfidf' '--verify contained' '--keep none' '--keep longest --keep-count 2' '--keep last --keep-count 2' \
    '--against in.csv' '--cluster star' '--candidates all' \
    '--max-group-size 9' '--verify none' '--verify signature' '--bands 4 --rows 2' '--unit word' '--unit span:0' '--unit line:5' '--keep-count 0'; do
    bm dedup in.jsonl --unit line $bad -o never; refused 2 '--'; absent never
done
for unit in line paragraph; do
    for bad in '--weights tfidf' '--verify contained' '--keep none' '--keep last --keep-count 2' '--against in.csv'; do
        bm dedup in.jsonl --unit $unit --threshold 0.7 $bad -o never; refused 2 '--'; absent never
    done
done
bm dedup in.jsonl --min-words 3 -o never; refused 2 '--min-words without --unit'
bm dedup in.jsonl --keep-count 3 -o never; refused 2 '--keep-count without --unit'
bm dedup in.jsonl --unit line -o -; refused 2 '-o DIR with --unit'
bm sign in.jsonl -q -o signed; exits 0
bm dedup signed --unit line -o never; refused 2 '.*documents, not signatures'
printf 'some text' > plain; bm dedup plain --unit line -o never; refused 2 '--unit with --format files'
bm filter out --annotate -o never; refused 2 '.*parts of documents'
