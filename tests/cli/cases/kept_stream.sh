# SPDX-License-Identifier: Apache-2.0
# dedup -o -: the kept records on standard output, as one stream: the bytes that the files of `-o DIR` have, one after another,
# with one header, one array, one byte order mark.
# shellcheck shell=sh disable=SC2034,SC2086,SC2154
words() { seq -f 'w%g' -s ' ' "$1" "$2"; }
a=$(words 1 20) other=$(words 100 119) third=$(words 200 219)
find='--shingle word:1 --threshold 0.8 --perms 64 --bands 64 --rows 1'

# --- json lines, the first file without a newline at its end, the second with a byte order mark ---
printf '{"id":"a","text":"%s"}\n  {"text":"%s","id":"copy"}\n{"id":"other","text":"%s"}' "$a" "$a" "$other" > x.jsonl
printf '\357\273\277{"id":"third","text":"%s"}\r\n{"id":"again","text":"%s"}\n' "$third" "$other" > y.jsonl
{ printf '{"id":"a","text":"%s"}\n{"id":"other","text":"%s"}\n' "$a" "$other"; printf '{"id":"third","text":"%s"}\r\n' "$third"; } > stays
bm dedup x.jsonl y.jsonl $find -o -; exits 0; holds ../out < stays
says ../err '^bandmill: 3 kept, 2 removed'
bm dedup y.jsonl $find -o - -q; exits 0; silent ../err; holds ../out < y.jsonl
"$PROGRAM" dedup - $find -o - -q < x.jsonl > got; printf '{"id":"a","text":"%s"}\n{"id":"other","text":"%s"}' "$a" "$other" | holds got
[ "$(find . -newer stays -type d | wc -l)" -le 1 ] || fail "a directory is left: $(find . -newer stays)"
for more in '--memory 64M --threads 4' '--verify signature' '--batch-docs 1'; do
    bm dedup x.jsonl y.jsonl $find $more -o - -q; exits 0; holds ../out < stays
done
bm sign x.jsonl y.jsonl --shingle word:1 --perms 64 -o signed -q; exits 0
bm dedup signed --threshold 0.8 --bands 64 --rows 1 -o - -q; exits 0; holds ../out < stays
bm dedup signed --threshold 0.8 --bands 64 --rows 1 --verify signature -o - -q; exits 0; printf 'a\nother\nthird\n' | holds ../out
bm index build index x.jsonl --shingle word:1 --perms 64 --bands 64 --rows 1 -q; exits 0
bm dedup y.jsonl --against index -o - -q; exits 0; printf '\357\273\277{"id":"third","text":"%s"}\r\n' "$third" | holds ../out

# --- compressed ---
for how in gz zst; do
    bm dedup x.jsonl y.jsonl $find -o - -q --kept $how; exits 0
    case $how in gz) gzip -dc ../out > got ;; zst) cp ../out got.zst; bm dedup got.zst --format jsonl -o - -q; exits 0; cp ../out got ;; esac
    holds got < stays
done
gzip -k x.jsonl
bm dedup x.jsonl.gz y.jsonl $find -o - -q; exits 0; holds ../out < stays

# --- one header, one array ---
printf 'id,text\n1,%s\n2,%s' "$a" "$other" > x.csv
printf '\357\273\277id,text\n3,"%s"\n4,%s\n' "$third" "$a" > y.csv
: > none.csv
bm dedup none.csv x.csv y.csv $find -o - -q; exits 0; printf 'id,text\n1,%s\n2,%s\n3,"%s"\n' "$a" "$other" "$third" | holds ../out
printf 'text,id\n%s,5\n' "$third" > z.csv
bm dedup x.csv z.csv $find -o -; refused 3 'z\.csv:1: the header is not that of x\.csv'
printf '1\t%s\n2\t%s\n' "$a" "$a" > n.tsv
bm dedup n.tsv --text-field 2 --id-field 1 $find -o - -q; exits 0; head -n 1 n.tsv | holds ../out
printf '[{"id":1,"text":"%s"},{"id":2,"text":"%s"}]' "$a" "$a" > x.json
printf '\357\273\277[ {"id":3,"text":"%s"} ]\n' "$other" > y.json
bm dedup x.json y.json $find -o - -q; exits 0; printf '[\n{"id":1,"text":"%s"},\n{"id":3,"text":"%s"}\n]\n' "$a" "$other" | holds ../out
printf '[]' > e.json
bm dedup e.json $find -o - -q; exits 0; printf '[]\n' | holds ../out
printf '%s\n%s\n%s' "$a" "$a" "$other" > l.txt
bm dedup l.txt --format lines $find -o - -q; exits 0; printf '%s\n%s' "$a" "$other" | holds ../out
mkdir docs; printf '%s' "$a" > docs/1; cp docs/1 docs/2
bm dedup docs $find -o - -q; exits 0; printf 'docs/1\n' | holds ../out
: > empty.jsonl
bm dedup empty.jsonl -o -; exits 0; silent ../out; says ../err 'the input is empty'

# --- summaries beside it ---
bm dedup x.jsonl y.jsonl $find -o - --json --report r.json; exits 0
holds ../out < stays; holds r.json < ../err
says r.json '"kept": ?3'; says r.json '"outputs": ?\{\}'

# --- what has no place ---
for option in --resume --pairs '--removed same' '--kept no'; do
    bm dedup x.jsonl $find -o - $option; refused 2 "${option% same} where the kept documents are a stream"
done
bm dedup x.jsonl -o - --report -; refused 2 '--report: "-" is no file'
bm sign x.jsonl -o -; refused 2 '--output: "-" is no directory'
bm dedup x.jsonl; refused 2 'no output \(expected -o DIR\); -o - is stdout'
"$PROGRAM" dedup x.jsonl $find -o - >> x.jsonl 2> ../err; rc=$?; exits 2; says ../err 'standard output is the input x\.jsonl'

# --- nothing is written before all is known; a reader who leaves ends it quietly ---
{ cat x.jsonl; printf '\n{"id":\n'; } > bad.jsonl
bm dedup bad.jsonl $find -o -; refused 3 'bad\.jsonl:4: '
bm dedup bad.jsonl $find -o - --on-error skip -q; exits 0; printf '{"id":"a","text":"%s"}\n{"id":"other","text":"%s"}\n' "$a" "$other" | holds ../out
awk 'BEGIN { for (i = 0; i < 30000; i++) printf "{\"id\":%d,\"text\":\"a%d b%d c%d d%d e%d f%d\"}\n", i, i, i, i, i, i, i }' > many.jsonl
{ "$PROGRAM" dedup many.jsonl -o - -q 2> ../err; echo $? > code; } | head -n 1 > got
[ "$(cat code)" = 141 ] || fail "exit code $(cat code) where nobody reads"
silent ../err; head -n 1 many.jsonl | holds got
if [ -c /dev/full ]; then "$PROGRAM" dedup x.jsonl -o - > /dev/full 2> ../err; rc=$?; exits 4; says ../err 'standard output: No space'; fi
