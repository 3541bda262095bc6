# SPDX-License-Identifier: Apache-2.0
# --format json: the objects of one top-level array, kept as an array of the objects that stay, byte for byte.
# shellcheck shell=sh disable=SC2034,SC2154
text="the quick brown fox jumps over the lazy dog"

# several lines, several on a line, white space anywhere; LINE is where a record begins
printf '\n [ {"id":"a",  "text":"%s"},\r\n{"id":"b",\n "text" : "%s" } ,\n\n\n{"id":"c","text":"one, ] } \\" [ of its own"},{"text":"alone"}\n]\n' \
    "$text" "$text" > a.json
bm dedup a.json --format json -o out; exits 0
printf '[\n{"id":"a",  "text":"%s"},\n{"id":"c","text":"one, ] } \\" [ of its own"},\n{"text":"alone"}\n]\n' "$text" | holds out/kept.json
printf 'id\tkept\tjaccard\treason\tfile\tline\tlost\nb\ta\t1.000000\tidentical\ta.json\t3\t0\n' | holds out/removed.tsv
says out/report.json '"input_format": ?"json"'
bm sign a.json --format json -o signed; exits 0
printf 'a\nb\nc\na.json:4\n' | holds signed/ids.txt
# filter writes the same array again, and dedup from stdin
bm filter out a.json -o again; exits 0
holds again/kept.json < out/kept.json
bm dedup - --format json -o piped < a.json; exits 0
holds piped/kept.json < out/kept.json

# compressed, and several files
gzip -nc a.json > g.json.gz
printf '[]' > none.json
: > empty.json
bm dedup g.json.gz none.json empty.json --format json -o several; exits 0
gzip -dc several/kept/g.json.gz | cmp -s - out/kept.json || fail "the compressed array differs"
printf '[]\n' | holds several/kept/none.json
printf '[]\n' | holds several/kept/empty.json

# a byte order mark stays before the bracket, also where the first element goes
printf '\357\273\277[{"id":1,"text":"%s"},\n{"id":2,"text":"%s"}]' "$text" "$text" > mark.json
bm dedup mark.json --format json --keep last -o mark; exits 0
printf '\357\273\277[\n{"id":2,"text":"%s"}\n]\n' "$text" | holds mark/kept.json

# all on one line: bad elements among good ones are told apart, also by filter
printf '[7,{"id":"a","text":"%s"},{"id":"x","text":5},{"id":"b","text":"%s"},{"id":"c","text":tru},{"id":"d","text":"other words"}]' \
    "$text" "$text" > one.json
bm dedup one.json --format json -o one_out; refused 3 'one\.json:1: not a JSON object'; absent one_out
bm dedup one.json --format json --on-error skip -o one; exits 0
printf '[\n{"id":"a","text":"%s"},\n{"id":"d","text":"other words"}\n]\n' "$text" | holds one/kept.json
checks=$((checks + 1)); [ "$(wc -l < one/skipped.tsv)" = 4 ] || fail "three skipped records"
says one/report.json '"records": ?6\b'
bm filter one one.json -o one2; exits 0
holds one2/kept.json < one/kept.json
# without ids the N-th element is FILE:N
printf '[{"text":"%s"},{"text":"short"},{"text":"%s"}]' "$text" "$text" > same.json
bm dedup same.json --format json -o same; exits 0
printf '[\n{"text":"%s"},\n{"text":"short"}\n]\n' "$text" | holds same/kept.json
bm filter same same.json -o same2; exits 0
holds same2/kept.json < same/kept.json

# what breaks the array is an error at its line, and nothing is at the target
broken() {
    printf "$1" > broken.json
    bm sign broken.json --format json -o out_broken; refused 3 "broken\\.json:$2: broken JSON: $3"; absent out_broken
}
broken '{"text":"a"}' 1 'an array was expected'
broken ' ' 1 'the file ends'
broken '[{"text":"a"},\n{"text":"b"}\n{"text":"c"}]' 3 'a comma or \]'
broken '[{"text":"a"},\n]' 2 'an element'
broken '[{"text":"a"},\n\n,{"text":"b"}]' 3 'an element'
broken '[{"text":"a"}]\n[]' 2 'nothing more'
broken '[{"text":"a"},\n{"text":"b"}' 2 'the file ends before'
broken '[\n{"text":"a"},\n{"text":"b\n\n' 3 'the file ends within'
broken '[{"text":"a"},\n{"text":[1}]' 2 '\} where'
# and within an element a bad record, as in a line of JSON Lines
printf '[{"text":"a"},\n{"text":"b",}]' > element.json
bm sign element.json --format json -o out_element; refused 3 'element\.json:2: broken JSON at byte 13'; absent out_element

# an array is never held whole: of 60 MB no more is resident than of a tenth of it, but for what 64 MB allow
awk 'BEGIN { print "["; for (i = 0; i < 60000; i++) { s = ""; for (j = 0; j < 7; j++) s = s " word" i + j * 1000000
    s = s s s; printf "%s{\"id\":%d,\"text\":\"%s%s%s%s\"}\n", i ? "," : "", i, s, s, s, s } print "]" }' > big.json
bm dedup big.json --format json --verify none --threads 1 --memory 64M -o big; exits 0
peak=$(sed -n 's/.*"peak_resident_bytes": *\([0-9]*\).*/\1/p' big/report.json | head -n 1)
checks=$((checks + 1)); [ "${BANDMILL_TEST_SIZE:-}" = small ] || { [ "${peak:-0}" -gt 0 ] && [ "$peak" -le 134217728 ]; } || fail "peak memory $peak of $(wc -c < big.json) bytes"
checks=$((checks + 1))
"$PYTHON" -IS -c 'import sys
big, kept = (open(name, "rb").read() for name in sys.argv[1:])
sys.exit(big.replace(b"\n,{", b",\n{") != kept)' big.json big/kept.json || fail "the objects kept differ"
