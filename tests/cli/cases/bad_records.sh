# SPDX-License-Identifier: Apache-2.0
# A bad record: exit 3, the line that names file, line and reason, nothing at the target; or counted under --on-error skip.
# shellcheck shell=sh disable=SC2034,SC2154
good='{"id":"g","text":"a good document of several plain words"}'

# bad NAME 'RECORD' 'ERE': second line of a file of three.
bad() {
    printf '%s\n%s\n%s\n' "$good" "$2" '{"id":"h","text":"another one"}' > "$1.jsonl"
    for command in sign dedup; do
        bm "$command" "$1.jsonl" -o out
        refused 3 "$1\\.jsonl:2: $3"
        absent out
    done
    bm pairs "$1.jsonl"; exits 3
    bm pairs "$1.jsonl" -o out.tsv; refused 3 "$1\\.jsonl:2: "; absent out.tsv
    bm dedup "$1.jsonl" -o out --on-error skip --max-errors 1 --kept none
    exits 0
    printf 'file\tline\treason\n' > ../expected_head
    checks=$((checks + 1))
    head -n 1 out/skipped.tsv | cmp -s - ../expected_head || fail "the head of skipped.tsv"
    says out/skipped.tsv "^$1\\.jsonl	2	."
    says out/report.json '"skipped": ?1\b'
    says out/report.json '"records": ?3\b'
    bm dedup "$1.jsonl" -o out2 --on-error skip --max-errors 0
    exits 3; absent out2
    rm -r out
}

bad missing '{"id":"m","body":"no text here"}' '.*text'
bad type_number '{"id":"m","text":7}' '.*text'
bad type_list '{"id":"m","text":["a"]}' '.*text'
bad type_true '{"id":"m","text":true}' '.*text'
bad no_object '["text"]' ''
bad bare_word '"text"' ''
# broken JSON, also in what no field visits
bad cut '{"id":"m","text":"a' ''
bad cut_literal '{"id":"m","x":tru,"text":"a"}' ''
bad crossed '{"id":"m","x":[1,2},"text":"a"}' ''
bad two_objects '{"id":"m","text":"a"}{"id":"n","text":"b"}' ''
bad trailing '{"id":"m","text":"a"} x' ''
bad comma '{"id":"m","text":"a",}' ''
bad single_quotes "{'id':'m','text':'a'}" ''
bad leading_zero '{"id":"m","x":01,"text":"a"}' ''
bad plus '{"id":"m","x":+1,"text":"a"}' ''
bad bare_fraction '{"id":"m","x":.5,"text":"a"}' ''
bad nan '{"id":"m","x":NaN,"text":"a"}' ''
bad control "$(printf '{"id":"m","x":"\001","text":"a"}')" ''
bad tab "$(printf '{"id":"m","x":"\t","text":"a"}')" ''
bad bad_escape '{"id":"m","x":"\q","text":"a"}' ''
bad cut_escape '{"id":"m","x":"\u12","text":"a"}' ''
bad nested_after '{"id":"m","text":"a","x":{"y":[1,{"z":}]}}' ''

# an --id-field that was asked for and is missing
printf '{"key":1,"text":"a b c"}\n{"text":"d e f"}\n' > k.jsonl
bm sign k.jsonl --id-field key -o out; refused 3 'k\.jsonl:2: .*key'; absent out
# but the default one is not needed
bm sign k.jsonl -o out; exits 0
printf 'k.jsonl:1\nk.jsonl:2\n' | holds out/ids.txt
rm -r out

# these are no errors: null and empty texts, escaped and repeated keys, blank lines, CRLF, a BOM, no final newline
printf '\357\273\277{"id":1.50,"text":null}\r\n\r\n{"id":"b","text":""}\n{"id":"c","te\\u0078t":"x y","text":"last one counts"}\n{"\\u0069d":"d","text":"q"}' > fine.jsonl
bm sign fine.jsonl -o out; exits 0
printf '1.50\nb\nc\nd\n' | holds out/ids.txt
rm -r out
printf '%s\n' '{"text":"not this","id":"e","text":5}' > last.jsonl
bm sign last.jsonl -o out; refused 3 'last\.jsonl:1: .*text'

# UTF-8: never an error, unless asked for
printf '{"id":"u","text":"caf\303 \377 x"}\n{"id":"s","text":"\\ud800 y"}\n' > utf8.jsonl
bm sign utf8.jsonl -o out; exits 0
says out/manifest.json '"invalid_utf8": ?3\b' # \303, \377 and \ud800
rm -r out
bm sign utf8.jsonl --invalid-utf8 error -o out; refused 3 'utf8\.jsonl:1: .*UTF-8'; absent out
printf '{"id":"s","text":"\\ud800 y"}\n' > lone.jsonl
bm sign lone.jsonl --invalid-utf8 error -o out; refused 3 'lone\.jsonl:1: '; absent out

# too long
printf 'short\n%s\n' "this line is far too long" > long.txt
bm sign long.txt --format lines --max-doc-bytes 10 -o out; refused 3 'long\.txt:2: '; absent out
bm sign long.txt --format lines --max-doc-bytes 25 -o out; exits 0
rm -r out

# tables
printf 'id\ttext\na\tx y\nb\n' > t.tsv
bm sign t.tsv -o out; refused 3 't\.tsv:3: '; absent out
printf 'id,text\na,"open quote\nand on\n' > c.csv
bm sign c.csv -o out; refused 3 'c\.csv:2: '; absent out
printf 'id,text\na,"x"y\n' > q.csv
bm sign q.csv -o out; refused 3 'q\.csv:2: '; absent out
bm sign t.tsv --text-field body -o out; exits 3; says ../err 't\.tsv:?1?:? .*body'; absent out

# a repeated id names both places
printf '{"id":"a","text":"x"}\n{"id":"b","text":"y"}\n' > ids1.jsonl
printf '\n{"id":"c","text":"z"}\n\n{"id":"b","text":"y"}\n' > ids2.jsonl
for command in sign dedup; do
    bm "$command" ids1.jsonl ids2.jsonl -o out; refused 3 "ids2\\.jsonl:4: the id 'b' was seen before, at ids1\\.jsonl:2 \\(.*--duplicate-ids number"
    absent out
done
bm pairs ids1.jsonl ids2.jsonl; refused 3 "ids2\\.jsonl:4: .*ids1\\.jsonl:2"

# a field that is missing: the message has those that are there
printf '{"id":"a","body":"x","meta":{"lang":"de","title":"t"}}\n' > fields.jsonl
bm sign fields.jsonl -o out; refused 3 "fields\\.jsonl:1: no field 'text' \\(.*'id', 'body', 'meta';"; absent out
bm sign fields.jsonl --text-field meta.text -o out; refused 3 "fields\\.jsonl:1: no field 'meta\\.text' \\(.*'meta\\.lang', 'meta\\.title';"
bm sign fields.jsonl --text-field body --id-field key -o out; refused 3 "fields\\.jsonl:1: no field 'key' \\(.*'id', 'body', 'meta';"
printf '{}\n' > nothing.jsonl
bm sign nothing.jsonl -o out; refused 3 "nothing\\.jsonl:1: no field 'text' \\(.*no fields;"
awk 'BEGIN { printf "{"; for (i = 0; i < 5000; i++) printf "%s\"f%d\":1", i ? "," : "", i; print "}" }' > many.jsonl
bm sign many.jsonl -o out; refused 3 "many\\.jsonl:1: no field 'text' \\(.*'f0', .*'f9' and 4990 more;"
printf '{"\033[31mred":1}\n' | sed 's/\x1b/\\u001b/' > control.jsonl
bm sign control.jsonl -o out; refused 3 "control\\.jsonl:1: .*'\\\\u001b\\[31mred'"
printf 'key,"a ""title""",body\n1,2,3\n' > fields.csv
bm sign fields.csv -o out; refused 3 "fields\\.csv:1: no field 'text' in the header \\(.*'key', 'a \"title\"', 'body'\\)"; absent out
printf 'key\tti\033tle\n1\t2\n' > fields.tsv
bm sign fields.tsv -o out; refused 3 "fields\\.tsv:1: no field 'text' in the header \\(.*'key', 'ti\\\\x1[bB]tle'\\)"
