# SPDX-License-Identifier: Apache-2.0
# explain of parts of documents: a cut and the place where its text stood first; broken bytes, repeated ids, parts of one document, texts that are
# gone; refusals.
# shellcheck shell=sh disable=SC2154
mkdir in
{
    printf '{"id":"bread","text":"Mix flour.\\n\377 one two three, four!\\nand more"}\n'
    printf '{"id":"same","text":"x\\n\\udfff\\nOne two three four\\n"}\n{"id":"same","text":"one two three four"}\n'
} > in/a.jsonl
printf 'id,text\r\ntwice,"y\n\nfive six, ""seven""\neight\n\nz\n\nfive six, ""seven""\neight"\r\n' > in/b.csv
bm dedup in/a.jsonl --duplicate-ids number --unit line --min-words 3 -q -o out; exits 0
bm explain out same 7; exits 0; silent ../err
holds ../out <<'END1'
bytes 6 to 25 of same were cut: equal to bytes 11 to 32 of bread
both have in common: 4 words

cut: same, line 2 of in/a.jsonl:
  x\n�\n[[One two three four\n]]

kept: bread, line 1 of in/a.jsonl:
  Mix flour.\n[[� one two three, four]]!\nand more
END1
bm explain out 'same#2' 17; exits 0; says ../out '^cut: same#2, line 3 of in/a.jsonl:'
bm dedup in/b.csv --unit span:3 --min-words 3 -q -o self; exits 0
bm explain self twice 31 --json; exits 0; silent ../err
holds ../out <<'END1'
{"schema":1,"kind":"explain","document":"twice","cut":[31,54],"file":"in/b.csv","line":2,"reason":"equal","jaccard":1,"kept":"twice","kept_from":3,"kept_to":26,"kept_file":"in/b.csv","kept_line":2,"in_common":4,"document_text":"y\n\nfive six, \"seven\"\neight\n\nz\n\nfive six, \"seven\"\neight","kept_text":"y\n\nfive six, \"seven\"\neight\n\nz\n\nfive six, \"seven\"\neight"}
END1

# negative answers are 1; what has no meaning is 2
bm explain out same 5; exits 1; silent ../out; says ../err "byte 5 of 'same' was not cut; 1 other part of it was"
bm explain out bread 11; exits 1; says ../err "nothing was cut out of 'bread'"
for bad in 'same' '--group 1' 'same x' 'same 7 --dot'; do
    # shellcheck disable=SC2086
    bm explain out $bad; refused 2 '.*(cuts.tsv|no graph)'
done

# texts that are gone, elsewhere, or others than they were
mv in gone
bm explain out same 7; exits 0; says ../err 'the texts are not known: in/a.jsonl'
echo 'bytes 6 to 25 of same were cut: equal to the part at byte 11 of bread' | holds ../out
bm explain out same 7 --json; exits 0; says ../out '"kept":"bread","kept_from":11,"document_text":null,"kept_text":null\}'
bm explain out same 7 --sources gone; exits 0; says ../out 'One two three four'
mkdir in && sed 's/flour/flours/' gone/a.jsonl > in/a.jsonl
bm explain out same 7; exits 0; says ../err 'the texts are not known'
