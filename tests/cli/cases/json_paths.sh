# SPDX-License-Identifier: Apache-2.0
# --text-field with [] reaches into arrays: all their values, joined by a newline; what is missing or no string is a bad record.
# shellcheck shell=sh disable=SC2034,SC2154
printf '%s\n' '{"id":"chat","messages":[{"role":"user","content":"what is a bandmill"},{"role":"assistant","content":"a saw with an endless blade"}]}' \
    '{"id":"text","messages":[{"content":"what is a bandmill\na saw with an endless blade"}]}' \
    '{"id":"null","messages":[{"content":null},{"content":"what is a bandmill"}]}' \
    '{"id":"none","messages":[]}' \
    '{"id":"last","messages":[{"content":1}],"messages":[{"content":"one","content":"what is a bandmill"}]}' > chat.jsonl
bm dedup chat.jsonl --text-field 'messages[].content' -o out; exits 0
printf 'id\tkept\tjaccard\treason\tfile\tline\tlost\ntext\tchat\t1.000000\tidentical\tchat.jsonl\t2\t0\nlast\tnull\t1.000000\tequal\tchat.jsonl\t5\t0\n' |
    holds out/removed.tsv
says out/report.json '"empty": ?1\b'
says out/report.json '"messages\[\]\.content"'
bm filter out -o again; exits 0
holds again/kept.jsonl < out/kept.jsonl
# the same in an array, and where the records are too long for the fast parser
awk 'BEGIN { printf "[" } { printf "%s%s", (NR > 1 ? ",\n" : ""), $0 } END { print "]" }' chat.jsonl > chat.json
bm dedup chat.json --format json --text-field 'messages[].content' -o array; exits 0
cut -f 1-4 out/removed.tsv > ../wanted
cut -f 1-4 array/removed.tsv | holds ../wanted
head -c 300000 /dev/zero | tr '\000' ' ' > spaces
while IFS= read -r line; do printf '%s' "${line%\}}"; cat spaces; printf '}\n'; done < chat.jsonl > wide.jsonl
bm dedup wide.jsonl --text-field 'messages[].content' -o wide; exits 0
cut -f 1-4 wide/removed.tsv | holds ../wanted

bad() {
    printf '{"messages":[{"content":"fine"}]}\n%s\n' "$1" > bad.jsonl
    bm sign bad.jsonl --text-field 'messages[].content' -o out_bad; refused 3 "bad\\.jsonl:2: $2"; absent out_bad
}
bad '{"messages":[{"content":"a"},{"content":7}]}' "value 2 of field 'messages\\[\\]\\.content' is a number \\(a string or null; --on-error skip"
bad '{"messages":[{"content":"a"},{"content":"b"},{"role":"user"}]}' "value 3 of field 'messages\\[\\]\\.content' is missing"
bad '{"messages":[{"content":["a"]}]}' 'value 1 of .* is an array'
bad '{"messages":["a"]}' 'value 1 of .* is missing'
bad '{"messages":{"content":"a"}}' "no field 'messages\\[\\]\\.content'"
bad '{"messages":null}' "no field 'messages\\[\\]\\.content'"
bad '{"text":"a"}' "no field 'messages\\[\\]\\.content'"

# elements of an array may be numbers, as they are written: sets of numbers can be compared
printf '%s\n' '{"id":"a","items":[1,2,3.50,1e3,0]}' '{"id":"b","items":["1","2","3.50","1e3","0"]}' '{"id":"c","items":[1,2,3.5,1000,0]}' > items.jsonl
bm pairs items.jsonl --text-field 'items[]' --words space --shingle word:1 --candidates all --threshold .1 -q; exits 0
printf 'id_a\tid_b\tjaccard\na\tb\t1.000000\na\tc\t0.428571\nb\tc\t0.428571\n' | holds ../out
# a number that is an id keeps its own digits beside them
printf '%s\n' '{"id":18416,"items":[456789,12]}' '{"items":[12,456789],"id":7}' > numbers.jsonl
bm sign numbers.jsonl --text-field 'items[]' -q -o numbers; exits 0
printf '18416\n7\n' | holds numbers/ids.txt
printf '{"items":[1,true]}\n' > bad.jsonl
bm sign bad.jsonl --text-field 'items[]' -o out_bad; refused 3 "bad\\.jsonl:1: value 2 of field 'items\\[\\]' is true or false \\(a string, a number or null; --on-error skip"

# an id is one value
bm sign chat.jsonl --id-field 'messages[].content' -o out_id; refused 2 '.*messages\[\]\.content.*--text-field'; absent out_id
