# SPDX-License-Identifier: Apache-2.0
# tune with documents: what it says, where it writes, what it refuses. Numbers by hand: three documents of which two share 4 of 6 words each
# way, a copy and an empty one.
# shellcheck shell=sh disable=SC2034,SC2154
printf '{"text":"a b c d e"}\n{"text":"a b c d f"}\n{"text":"a b c d e"}\n{"text":"x y z"}\n{"text":""}\n' > in.jsonl
bm tune in.jsonl --shingle word:1 --threshold .6 --bands 2 --rows 1; exits 0
says ../out '^word:1	5	1	1	1	3	3	1	0	0	1$'
# J = 4/6: 1 - (1/3)^2 = 8/9 found, 1/9 missed
says ../out '^word:1	2	1	0\.888889	0	0\.888889	0	0\.111111	0$'
says ../out '^word:1	0\.66	0\.67	1	1	0$'
says ../out '^word:1	0	0\.01	2	2	0$'
says ../err '^bandmill: word:1: 5 documents \(1 empty, 1 identical to an earlier one\); 3 of 3 distinct ones'
[ "$(grep -c '^word:1	' ../out)" = 102 ] || fail 'not a sample, a forecast and a hundred rows'

# twice as JSON, from stdin too; a panel each
bm tune in.jsonl --shingle word:1 --shingle char:3 --bands 2 --rows 1 --json -q; exits 0; silent ../err
says ../out '^\{"schema":1,"kind":"tune".*"samples":\[\{"shingle":"word:1","documents":5,.*\{"shingle":"char:3",'
cp ../out twice
bm tune --files-from list --bands 2 --rows 1; refused 4 'list'
echo in.jsonl > list
bm tune --files-from list --shingle word:1 --shingle char:3 --bands 2 --rows 1 --json -q --threads 3; exits 0
holds ../out < twice
command_line='bandmill tune -'
"$PROGRAM" tune - --shingle word:1 --bands 2 --rows 1 < in.jsonl > ../out 2> ../err; rc=$?
exits 0
says ../out '^word:1	5	1	1	1	3	3'
bm tune - --shingle word:1 --shingle word:2; refused 2 'standard input can be read once'

# the picture: whole, and never over a file that is not ours
bm tune in.jsonl --svg plans.svg --shingle word:1 --shingle word:2 -q; exits 0
says plans.svg '^<title id="title">Band plans over similarities</title>$'
says plans.svg '</svg>$'
[ "$(grep -c 'class="head"' plans.svg)" = 2 ] || fail 'not two panels'
cp plans.svg first.svg
bm tune in.jsonl --svg plans.svg -q; refused 2 'plans\.svg'
holds plans.svg < first.svg
bm tune in.jsonl --svg plans.svg --force --shingle word:1 --shingle word:2 -q; exits 0
holds plans.svg < first.svg
bm tune in.jsonl --svg in.jsonl --force; refused 2 'in\.jsonl'
bm tune --svg curves.svg -q; exits 0; says curves.svg 'bands of 7 rows \(chosen\)'
bm tune bad.jsonl --svg new.svg; refused 4 'bad\.jsonl'; absent new.svg
printf '{"text":1}\n' > bad.jsonl
bm tune bad.jsonl --svg new.svg; refused 3 'bad\.jsonl:1'; absent new.svg
"$PROGRAM" tune in.jsonl --svg out.tsv > out.tsv 2> ../err; rc=$?; : > ../out
refused 2 'standard output is the output'

# refused
bm sign in.jsonl -o signed -q; exits 0
bm tune signed; refused 2 'signed holds signatures'
bm tune in.jsonl --sample 1; refused 2 '--sample'
bm tune in.jsonl --shingle word:0; refused 2 '--shingle'
bm tune in.jsonl --device cpu; refused 2 '--device'
bm tune in.jsonl --memory 1K; refused 6 '.*--memory'
i=0
set --
while [ $i -lt 17 ]; do set -- "$@" --shingle word:3; i=$((i + 1)); done
bm tune in.jsonl "$@"; refused 2 '--shingle: .*16 of them'

# on a terminal: the histogram and what thresholds would remove stand before the plan. All documents compared: as many have an earlier one
# at a threshold as stand second in a row of every pair, copies among them; of a sample, within five errors.
on_terminal() { "$PYTHON" -c 'import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$PROGRAM" "$@" < /dev/null 2> ../err | tr -d '\r' > ../out; }
awk 'BEGIN {
    srand(5)
    for (i = 0; i < 400; i++) {
        if (i % 4 == 0) for (w = 0; w < 30; w++) words[w] = "w" int(rand() * 500)
        for (n = i % 4 == 3 ? 0 : int(rand() * 9); n > 0; n--) words[int(rand() * 30)] = "v" int(rand() * 500)
        text = ""; for (w = 0; w < 30; w++) text = text " " words[w]
        printf "{\"text\":\"%s\"}\n", text
    }
}' > near.jsonl
how='--shingle word:1'
# shellcheck disable=SC2086
on_terminal tune near.jsonl $how --threshold .5 -q; cp ../out whole
says whole '^word:1: 400 documents, [0-9]+ of them copies of an earlier one; all were compared, so the numbers are exact\.$'
[ "$(grep -cE '^0\.[0-9] to [01]\.[0-9] +[0-9,.]+  #*$' whole)" = 10 ] || fail 'no histogram of ten rows'
grep -nE '^threshold|^--bands' whole | cut -d: -f2 | cut -c1-7 | paste -s -d ' ' > order
echo 'thresho --bands' | holds order
# shellcheck disable=SC2086
on_terminal tune near.jsonl $how --threshold .5 --sample 200 -q; cp ../out some
says some '; the numbers are estimates from 200 \(\+-: standard error\)\.$'
for t in 0.9 0.8 0.7 0.6 0.5; do
    # shellcheck disable=SC2086
    bm pairs near.jsonl $how --threshold $t --candidates all -q; exits 0
    n=$(sed 1d ../out | cut -f2 | sort -u | wc -l)
    says whole "^$t +$n  \\([0-9.]+ %\\)\$"
    sed -n "s/^$t  *\([0-9.]*\) +- \([0-9.]*\)  (.*/\1 \2/p" some > estimate
    checks=$((checks + 1))
    awk -v n="$n" '{ found = $2 > 0 && $1 - n < 5 * $2 && n - $1 < 5 * $2 } END { exit !found }' estimate || fail "$t: $n, estimated as $(cat estimate)"
done
# without documents there is nothing to draw from
bm tune --sample 10; refused 2 '--sample without documents.*name an input'
