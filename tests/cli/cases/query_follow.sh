# SPDX-License-Identifier: Apache-2.0
# query --follow: each line is answered before the next is read; bad lines; either side goes; another process commits; the disk fails.
# shellcheck shell=sh disable=SC2034,SC2154
printf '{"id":"a","text":"one two three four five six"}\n{"id":"b","text":"seven eight nine ten eleven twelve"}\n' > t.jsonl
bm index build ix t.jsonl; exits 0
q='{"id":"q","text":"one two three four five six"}'

# rows, and an empty line after each answer; no header
printf '%s\n{"id":"r","text":"none of these words is in there"}\n\n%s' "$q" '{"text":"seven eight nine ten eleven twelve"}' > lines
bm query ix --follow < lines; exits 0
printf 'q\ta\t1.000000\n\n\n\n-:4\tb\t1.000000\n\n' | holds ../out
bm query ix --follow --json < lines; exits 0
printf '{"query":"q","target":"a","jaccard":1}\n\n\n\n{"query":"-:4","target":"b","jaccard":1}\n\n' | holds ../out
bm query --targets t.jsonl --follow < lines; exits 0
printf 'q\ta\t1.000000\n\n\n\n-:4\tb\t1.000000\n\n' | holds ../out
printf 'one two three four five six\nx\n' > texts
bm query ix --follow --format lines < texts; exits 0
printf -- '-:1\ta\t1.000000\n\n\n' | holds ../out
printf 'x\tone two three four five six\n' > table
bm query ix --follow --format tsv --id-field 1 --text-field 2 < table; exits 0
printf 'x\ta\t1.000000\n\n' | holds ../out

# a bad line: an error, or, skipped, a warning and an empty answer
printf '%s\n{"id":\n%s\n' "$q" "$q" > bad
bm query ix --follow < bad; exits 3
printf 'q\ta\t1.000000\n\n' | holds ../out
says ../err '^bandmill: -:2: '
bm query ix --follow --on-error skip < bad; exits 0
printf 'q\ta\t1.000000\n\n\nq\ta\t1.000000\n\n' | holds ../out
says ../err '-:2: skipped: '
bm query ix --follow --on-error skip --max-errors 0 < bad; exits 3
bm query ix --follow < /dev/null; exits 1
[ ! -s ../out ] || fail "an answer to nothing"

# the reader goes: 141, and not a word
yes "$q" | { "$PROGRAM" query ix --follow -q 2> ../err; echo $? > ../code; } | head -n 1 > ../out
rc=$(cat ../code)
command_line='yes | bandmill query ix --follow | head -n 1'
exits 141
[ ! -s ../err ] || fail "words on stderr"

# answered COUNT: that many empty lines are in `answers`
answered() {
    comes awk -v n="$1" '/^$/ { found++ } END { exit found < n }' answers
}

# the threads and the device that were asked for change nothing
bm query ix --follow --threads 1 --device cpu < lines; exits 0
printf 'q\ta\t1.000000\n\n\n\n-:4\tb\t1.000000\n\n' | holds ../out

# while it waits, another process commits, compacts, and builds anew: it sees that
mkfifo asks
"$PROGRAM" query ix --follow -q < asks > answers 2> ../err &
job=$!
exec 9> asks
echo "$q" >&9; answered 1
printf '{"id":"c","text":"one two three four five six"}\n' > more.jsonl
bm index add ix more.jsonl; exits 0
sleep 0.3
echo "$q" >&9; answered 2
bm index remove ix a; exits 0
bm index compact ix; exits 0
sleep 0.3
echo "$q" >&9; answered 3
exec 9>&-
wait $job
rc=$?
command_line='bandmill query ix --follow'
exits 0
printf 'q\ta\t1.000000\n\nq\ta\t1.000000\nq\tc\t1.000000\n\nq\tc\t1.000000\n\n' | holds answers

# a file that is cut short under the map: one line, exit 4
i=0
while [ $i -lt 3000 ]; do
    echo "{\"id\":\"d$i\",\"text\":\"w$i x$i y$i z$i one$i two$i three$i\"}"
    i=$((i + 1))
done > many.jsonl
bm index build big many.jsonl; exits 0
: > answers # those of before are no answers to this
"$PROGRAM" query big --follow < asks > answers 2> ../err &
job=$!
exec 9> asks
head -n 1 many.jsonl >&9; answered 1
: > big/data.mdb
tail -n 1 many.jsonl >&9
exec 9>&-
wait $job
rc=$?
exits 4
[ "$(wc -l < ../err)" -eq 1 ] || fail "stderr is not one line"
says ../err '^bandmill: a file that is open as memory cannot be read'
