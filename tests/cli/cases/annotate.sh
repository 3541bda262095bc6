# SPDX-License-Identifier: Apache-2.0
# filter --annotate: every document, each with its group; all other bytes stay. With word:1 a document is the set of its words: a and copy
# are the same, near shares 9 of 11 words with them (0.818182), alone shares none.
# shellcheck shell=sh disable=SC2034,SC2154
a='one two three four five six seven eight nine ten'
near='one two three four five six seven eight nine other'
find_groups() { bm dedup "$@" --shingle word:1 --threshold 0.5 --force -q; exits 0; }

# JSON Lines: white space, CRLF, braces in strings, a bad record that is no document, a last line without an end
{
    printf '{"id":"a","text":"%s"}\n' "$a"
    printf '  { "id" : "alone", "text" : "nothing here {or there}" , "more" : {"x":[1,2]} }  \r\n'
    printf '{broken\n'
    printf '{"text":"%s","id":"near"}\n\n' "$near"
    printf '{"id":"copy","text":"%s", "note":"a \\"bandmill\\" }"}' "$a"
} > in.jsonl
find_groups in.jsonl --on-error skip -o out
bm filter out --annotate -o all; exits 0
says ../err '2 kept, 2 removed, 1 record skipped; each document is written with its group'
{
    printf '{"id":"a","text":"%s","bandmill":{"group":1,"size":3,"kept":true,"jaccard":1.000000}}\n' "$a"
    printf '  { "id" : "alone", "text" : "nothing here {or there}" , "more" : {"x":[1,2]} ,"bandmill":{"group":null,"size":null,"kept":true,"jaccard":null}}  \r\n'
    printf '{"text":"%s","id":"near","bandmill":{"group":1,"size":3,"kept":false,"jaccard":0.818182}}\n' "$near"
    printf '{"id":"copy","text":"%s", "note":"a \\"bandmill\\" }","bandmill":{"group":1,"size":3,"kept":false,"jaccard":1.000000}}' "$a"
} | holds all/annotated.jsonl
bm inspect all; exits 0
if command -v "$PYTHON" > /dev/null; then
    checks=$((checks + 1))
    "$PYTHON" - << 'END' || fail "the records with their groups are no JSON, or not those of the input"
import json
lines = open("all/annotated.jsonl", encoding="utf-8").read().split("\n")
groups = {json.loads(line)["id"]: json.loads(line)["bandmill"] for line in lines}
assert groups == {"a": {"group": 1, "size": 3, "kept": True, "jaccard": 1}, "alone": {"group": None, "size": None, "kept": True, "jaccard": None},
                  "near": {"group": 1, "size": 3, "kept": False, "jaccard": 0.818182}, "copy": {"group": 1, "size": 3, "kept": False, "jaccard": 1}}, groups
END
fi
# moved inputs, standard input, compression; signatures of the same documents know no similarity of their own
mkdir moved && cp in.jsonl moved/else.jsonl
bm filter out moved/else.jsonl --annotate --kept gz -o packed; exits 0
gzip -dc packed/annotated.jsonl.gz > unpacked; holds unpacked < all/annotated.jsonl
bm filter out - --annotate -o piped < in.jsonl; exits 0
holds piped/annotated.jsonl < all/annotated.jsonl

# several inputs have a file each; the directory that holds them is known as a result, for --force too
printf '{"id":"b","text":"%s"}\n' "$a" > second.jsonl
find_groups moved/else.jsonl second.jsonl --on-error skip -o both
bm filter both --annotate -o each; exits 0
sed 's/"size":3/"size":4/' all/annotated.jsonl | holds each/annotated/moved/else.jsonl
says each/annotated/second.jsonl '"id":"b",.*"bandmill":\{"group":1,"size":4,"kept":false,"jaccard":1\.000000\}'
absent each/kept
bm dedup all -o unmade; refused 2 'all: is a result of bandmill \(its documents are in all/annotated\.jsonl\)'
bm filter both --annotate -o all --force; exits 0
absent all/annotated.jsonl

# a record that has the field is an error that names it, and nothing is written; the key may be escaped, and a deeper one is another
printf '{"id":1,"text":"%s"}\n{"id":2,"text":"%s","\\u0062andmill":0}\n' "$a" "$a" > has.jsonl
find_groups has.jsonl -o has
bm filter has --annotate -o unmade
refused 3 "has\.jsonl:2: the record has a field 'bandmill' already"
absent unmade
printf '{"text":"%s","x":{"bandmill":1}}\n' "$a" > deep.jsonl
find_groups deep.jsonl -o deep
bm filter deep --annotate -o deeper; exits 0
printf '{"text":"%s","x":{"bandmill":1},"bandmill":{"group":null,"size":null,"kept":true,"jaccard":null}}\n' "$a" | holds deeper/annotated.jsonl

# elements of an array, several in a line
printf '[{"id":"a","text":"%s"},{"id":"alone","text":"nothing"}, {"id":"near","text":"%s"\n}]\n' "$a" "$near" > in.json
find_groups in.json --format json -o out
bm filter out --annotate -o array; exits 0
{
    printf '[\n{"id":"a","text":"%s","bandmill":{"group":1,"size":2,"kept":true,"jaccard":1.000000}},\n' "$a"
    printf '{"id":"alone","text":"nothing","bandmill":{"group":null,"size":null,"kept":true,"jaccard":null}},\n'
    printf '{"id":"near","text":"%s"\n,"bandmill":{"group":1,"size":2,"kept":false,"jaccard":0.818182}}\n]\n' "$near"
} | holds array/annotated.json

# tsv and csv: three columns with names; a short row is filled up, a longer one refused; quotes, newlines and CRLF stay
printf 'id\ttext\tnote\na\t%s\tx\r\nshort\tnothing here\nnear\t%s\ty' "$a" "$near" > in.tsv
find_groups in.tsv -o out
bm filter out --annotate -o table; exits 0
printf 'id\ttext\tnote\tbandmill_group\tbandmill_size\tbandmill_kept\tbandmill_jaccard\na\t%s\tx\t1\t2\ttrue\t1.000000\r\nshort\tnothing here\t\t\t\ttrue\t\nnear\t%s\ty\t1\t2\tfalse\t0.818182' \
    "$a" "$near" | holds table/annotated.tsv
printf 'id,text\r\n"a, the ""first""","%s"\r\n"n","%s\n"\r\n' "$a" "$near" > in.csv
find_groups in.csv -o out
bm filter out --annotate -o comma; exits 0
printf 'id,text,bandmill_group,bandmill_size,bandmill_kept,bandmill_jaccard\r\n"a, the ""first""","%s",1,2,true,1.000000\r\n"n","%s\n",1,2,false,0.818182\r\n' "$a" "$near" |
    holds comma/annotated.csv
printf 'id;text\na;"%s"\nn;%s\n' "$a" "$near" > in.csv
find_groups in.csv --delimiter ';' -o out
bm filter out --annotate -o semicolon; exits 0
printf 'id;text;bandmill_group;bandmill_size;bandmill_kept;bandmill_jaccard\na;"%s";1;2;true;1.000000\nn;%s;1;2;false;0.818182\n' "$a" "$near" |
    holds semicolon/annotated.csv
printf '%s\n%s\n' "$a" "$near" > bare.tsv
find_groups bare.tsv --header no --text-field 1 -o out
bm filter out --annotate -o columns; exits 0
printf '%s\t1\t2\ttrue\t1.000000\n%s\t1\t2\tfalse\t0.818182\n' "$a" "$near" | holds columns/annotated.tsv
# a first row that is none says nothing of the others
printf 'a"b\n%s\n%s,more\n' "$a" "$near" > long.csv
find_groups long.csv --header no --text-field 1 --on-error skip -o out
bm filter out --annotate -o unmade
refused 3 "long\.csv:3: 2 fields, and 1 in the file's first row"
printf 'text\tbandmill_kept\n%s\tx\n' "$a" > named.tsv
find_groups named.tsv -o out
bm filter out --annotate -o unmade
refused 3 "named\.tsv:1: the header has a column 'bandmill_kept' already"
absent unmade

# no similarity is known under --verify none
bm dedup in.jsonl --on-error skip --shingle word:1 --threshold 0.5 --verify none --force -q -o out; exits 0
bm filter out --annotate -o unknown; exits 0
says unknown/annotated.jsonl '"id":"near","bandmill":\{"group":1,"size":3,"kept":false,"jaccard":null\}'

# formats without a place for it, and results that are not of these inputs
printf '%s\n%s\n' "$a" "$near" > in.txt
for format in lines files; do
    find_groups in.txt --format $format -o out
    bm filter out --annotate -o unmade
    refused 2 '--annotate.*no place for a group \(jsonl, json, tsv, csv, parquet or arrow\)'
    absent unmade
done
bm dedup in.jsonl --annotate -o unmade
refused 2 '.*--annotate'
find_groups in.jsonl --on-error skip -o out
sed 's/"size":3/"size":4/; s/"copy"\]/"copy","stranger"]/' out/groups.jsonl > groups && cp groups out/groups.jsonl
bm filter out --annotate -o unmade
exits 7
absent unmade
