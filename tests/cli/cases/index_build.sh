# SPDX-License-Identifier: Apache-2.0
# index build: which inputs it takes, skips and refuses; info and check agree with it.
# shellcheck shell=sh disable=SC2034,SC2154
for i in 1 2 3 4 5 6; do echo "{\"id\":\"d$i\",\"text\":\"one two three four five six seven eight nine ten and document $i of six\"}"; done > in.jsonl
printf '{"id":"e","text":""}\n' >> in.jsonl

bm index build idx in.jsonl; exits 0; silent ../out
says ../err '^bandmill: 7 documents read$'; says ../err '^bandmill: not signed: 1 document empty$'
says ../err '^bandmill: 7 added; the index holds 7 documents'
[ "$(LC_ALL=C ls -A idx)" = "data.mdb
last_commit
lock.mdb" ] || fail "other files: $(ls -A idx)"
[ -z "$(find . -name '*.partial*')" ] || fail "something is left"
bm index check idx; exits 0; silent ../out
bm index check idx --json; exits 0; holds ../out <<'END'
{"schema":1,"wrong":[],"sound":true}
END
bm index info idx; exits 0; silent ../err
says ../out '^  documents: 7$'; says ../out '^  empty: 1$'; says ../out '^  removed: 0$'; says ../out '^  store: sets$'; says ../out '^kind: index$'
says ../out '^  shingle: word:5$'; says ../out '^  bands: 13$'; says ../out '^  rows: 7$'
bm index info idx --json; exits 0; says ../out '^ *"text_bytes": [0-9]+'
python3 -c 'import json,sys; i=json.load(open("../out")); assert i["counts"]["documents"]==7 and i["plan"]["bands"]*i["plan"]["rows"]<=i["provenance"]["perms"], i' || fail "info is no JSON, or wrong"

bm inspect idx; exits 0; says ../out '^kind: index$'; says ../out '^  documents: 7$'

# options that fix it
bm index build own in.jsonl --store signatures --perms 64 --seed 7 --shingle char:9 --normalize lower,punct --bands 16 --rows 4 --threshold .5 --json
exits 0; says ../out '"added": 7'; says ../out '"kind": "index build"'
bm index info own; says ../out '^  store: signatures$'; says ../out '^  perms: 64$'; says ../out '^  seed: 7$'; says ../out '^  shingle: char:9$'
says ../out '^  normalize: lower,punct$'; says ../out '^  bands: 16$'; says ../out '^  threshold: 0.5$'
bm index build oph in.jsonl --scheme oph --report rep.json -q; exits 0; silent ../err
says rep.json '"scheme": "oph"'
bm index check oph; exits 0

# an output that stands there
bm index build idx in.jsonl; refused 2 'idx: the output exists already \(--force replaces it\)'
bm index build in.jsonl in.jsonl; refused 2 '.*'
bm index build idx in.jsonl --force --seed 9; exits 0
bm index info idx; says ../out '^  seed: 9$'
touch idx/mine
bm index build idx in.jsonl --force; refused 2 'idx: holds mine, which is no part of it'
rm idx/mine
mkdir other && touch other/a
bm index build other in.jsonl --force; refused 2 'other: is not an index'
bm dedup in.jsonl -o result -q; exits 0
bm index build result in.jsonl --force; refused 2 'result: is not an index'
bm dedup in.jsonl -o idx --force; refused 2 'idx: holds no manifest.json or report.json of bandmill'
mkdir empty
bm index build empty in.jsonl; exits 0
mkdir docs && cp in.jsonl docs/
bm index build docs/idx docs; refused 2 'docs/idx: the output lies in the input docs'
bm index build deep/er/idx in.jsonl -q; exits 0; bm index check deep/er/idx; exits 0

# bad inputs leave nothing
printf '{"id":"a","text":"x"}\n{"id":"b","text":\n' > bad.jsonl
bm index build none bad.jsonl; refused 3 'bad.jsonl:2: '; absent none
bm index build bad bad.jsonl --on-error skip; exits 0; says ../err 'warning: bad.jsonl:2: skipped: '; says ../err '1 record skipped'
rm -r bad
bm index build none nowhere.jsonl; refused 4 'nowhere.jsonl: '; absent none
bm index build none in.jsonl --threshold 0.1 --perms 28; refused 2 '.*\b29\b'; absent none
: > nothing.jsonl
bm index build none nothing.jsonl; exits 0; bm index check none; exits 0; bm index info none; says ../out '^  documents: 0$'

# interrupted: nothing, and the next one clears what is there
waiting_inputs
"$PROGRAM" index build out - -q < fifo > /dev/null 2>&1 &
job=$!
exec 3> fifo
head -n 150 in.jsonl >&3
comes test -s out.partial/.bandmill-work
bm index build out in.jsonl; refused 9 'out.partial: another job writes this output now'
kill -9 $job
exec 3>&-
wait $job 2> /dev/null
[ -d out.partial ] || fail "the killed job left nothing"
bm index build out in.jsonl -q; exits 0; [ -z "$(find . -name 'out.partial*')" ] || fail "something is left"
bm index check out; exits 0; bm index info out; says ../out '^  documents: 400$'
