# SPDX-License-Identifier: Apache-2.0
# explain of a result of overlap: an item and a document, both texts with the run marked; broken bytes, repeated ids, runs in another order;
# texts that are gone; refusals.
# shellcheck shell=sh disable=SC2154
words() { seq -f 'w%g' -s ' ' "$1" "$2"; }
mkdir tests
printf '{"qid":1,"question":"What? %s"}\n{"qid":2,"question":"%s"}\n{"qid":3,"question":"a few"}\n' "$(words 1 14)" "$(words 101 110)" > tests/a.jsonl
{
    printf '{"id":"wrapped","text":"Said he:\\n%s\\n\\n%s; and left."}\n' "$(words 1 7)" "$(words 8 14)"
    printf '{"id":"bad","text":"\377 %s \\udfff\342\202"}\n' "$(words 101 110)"
    printf '{"id":"far","text":"%s %s %s"}\n' "$(words 900 1050)" "$(words 1 14)" "$(words 2000 2150)"
    printf '{"id":"1","text":"nothing of it"}\n'
} > train.jsonl
bm overlap train.jsonl --against tests --against-text-field question --against-id-field qid -o out -q; exits 0
bm explain out 1 wrapped; exits 0; silent ../err
holds ../out <<'END1'
wrapped holds 2 of 3 shingles of item 1: a coverage of 0.666667
the longest run of the document: 14 words, bytes 9 to 56
the same run of the item: 14 words, bytes 6 to 52

item 1, line 1 of tests/a.jsonl:
  What? [[w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14]]

document wrapped, line 1 of train.jsonl:
  Said he:\n[[w1 w2 w3 w4 w5 w6 w7\n\nw8 w9 w10 w11 w12 w13 w14]]; and left.
END1
bm explain out 2 bad --json; exits 0; silent ../err
holds ../out <<'END1'
{"schema":1,"kind":"explain","threshold":0.5,"item":"2","document":"bad","coverage":1,"hits":1,"shingles":1,"documents":1,"together":1,"longest":10,"run":[2,51],"in_item":10,"item_run":[0,49],"item_text":"w101 w102 w103 w104 w105 w106 w107 w108 w109 w110","document_text":"� w101 w102 w103 w104 w105 w106 w107 w108 w109 w110 ��"}
END1
bm explain out 1 far -o far.txt; exits 0; silent ../out
says far.txt '^  \[\.\.\. [0-9]+ bytes \.\.\.\].* \[\[w1 w2 w3 .* w14\]\] .*\[\.\.\. [0-9]+ bytes \.\.\.\]$'
[ "$(wc -c < far.txt)" -lt 1500 ] || fail "the text is not shown around its run alone"

# ids of items and of documents are two spaces; negative answers are 1, unknown ids 2
bm explain out 1 1; exits 1; silent ../out
says ../err "'1' does not hold item '1': it has 0 of 3 shingles, a coverage of 0.000000, below the threshold of 0.5"
bm explain out 3 wrapped; exits 1
says ../err "item '3' was not looked for"
bm explain out wrapped 1; refused 2 "no item 'wrapped'"
bm explain out 1 nobody; refused 2 "no document 'nobody'"
bm explain out 1; refused 2 'of a result of overlap an item and a document'
bm explain out --group 1; refused 2 'of a result of overlap an item and a document'
bm explain out 1 wrapped --dot; refused 2 'a result of overlap has no groups'

# the document's run has shingles of the item in another order than the item has them: ab, ba of ab, bx, xb, ba, az
printf '{"id":"i","text":"aa bb xx bb aa zz"}\n' > item.jsonl
printf '{"id":"d","text":"qq aa bb aa qq"}\n' > doc.jsonl
bm overlap doc.jsonl --against item.jsonl --shingle word:2 --min-words 2 --threshold 0.4 -o order -q; exits 0
bm explain order i d; exits 0
says ../out '^d holds 2 of 5 shingles'
says ../out '^the longest run of the document: 3 words, bytes 3 to 11'
says ../out '^at a stretch the item has of it: 2 words, bytes 0 to 5'
says ../out '^  \[\[aa bb\]\] xx bb aa zz'
says ../out '^  qq \[\[aa bb aa\]\] qq'

# below the threshold, the coverage is told: of a long and of a short item, of stop shingles, of texts that are gone
bm overlap train.jsonl --against tests/a.jsonl --against-text-field question --against-id-field qid -o strict -q --threshold 0.9; exits 0
bm explain strict 1 wrapped; exits 1; silent ../out
says ../err "'wrapped' does not hold item '1': it has 2 of 3 shingles, a coverage of 0.666667, below the threshold of 0.9"
bm explain strict 2 far; exits 1
says ../err "'far' does not hold item '2': it has 0 of 1 shingles"
bm overlap train.jsonl --against tests/a.jsonl --against-text-field question --against-id-field qid -o stop -q --shingle word:9 --stop-shingles 1
exits 0
bm explain stop 2 far; exits 1
says ../err "it has 0 of 2 shingles, a coverage of 0.000000, below"
bm explain stop 1 far; exits 1
says ../err "it has 6 of 7 shingles, stopped ones too, and without them its coverage is below the threshold of 0.5"
cp train.jsonl kept.jsonl
bm overlap kept.jsonl --against tests/a.jsonl --against-text-field question --against-id-field qid -o strict-2 -q --threshold 0.9; exits 0
rm kept.jsonl
bm explain strict-2 1 wrapped; exits 1
says ../err 'whether there is such a document is not known.*kept.jsonl'
says ../err "'wrapped' does not hold item '1': its coverage is below the threshold of 0.9"

# repeated ids that were numbered; several elements on one line; items of another format
printf '[{"id":"x","text":"%s"},{"id":"x","text":"%s"}]\n' "$(words 1 14)" "$(words 101 110)" > two.json
printf 'qid,question\n1,%s\n1,"%s\n%s"\n' "$(words 1 14)" "$(words 101 105)" "$(words 106 110)" > tests/b.csv
bm overlap two.json --duplicate-ids number --against tests/b.csv --against-text-field question --against-id-field qid -o numbered -q; exits 0
bm explain numbered 1 x; exits 0
says ../out '^  \[\[w1 .* w14\]\]$'
bm explain numbered '1#2' 'x#2'; exits 0
says ../out '^item 1#2, line 3 of tests/b.csv'
says ../out '^  \[\[w101 w102 w103 w104 w105\\nw106 w107 w108 w109 w110\]\]$'

# several inputs; the one that is not looked at may be gone, the one that is asked for may not; numbers stay

sed 's/"id":"/"id":"o-/' train.jsonl > other.jsonl
bm overlap train.jsonl other.jsonl --against tests/a.jsonl --against-text-field question --against-id-field qid -o several -q; exits 0
mv other.jsonl gone.jsonl
bm explain several 1 wrapped; exits 0; silent ../err
bm explain several 1 o-wrapped; exits 0
says ../err 'the text of the document is not known.*other.jsonl'
says ../out '^o-wrapped holds 2 of 3 shingles of item 1'
says ../out '^  What. w1 w2 .* w14$'
bm explain several 1 o-wrapped --json; exits 0
says ../out '"in_item":null,"item_run":null,"item_text":"What.*","document_text":null'
mkdir moved; mv gone.jsonl moved/other.jsonl
bm explain several 1 o-wrapped --sources moved; exits 0; silent ../err
printf ' ' >> tests/a.jsonl
bm explain several 1 wrapped; exits 0
says ../err 'the text of the item is not known.*tests/a.jsonl'
printf '\n' >> several/overlap.tsv
bm explain several 1 wrapped; exits 7
