# SPDX-License-Identifier: Apache-2.0
# index remove; and index compact, which frees the space of removed documents.
# shellcheck shell=sh disable=SC2034,SC2154
i=0
while [ $i -lt 300 ]; do echo "{\"id\":\"d$i\",\"text\":\"$i a b c d e f g h $i i j k l m $i\"}"; i=$((i + 1)); done > in.jsonl
bm index build idx in.jsonl -q; exits 0

bm index remove idx d5 d7 d7; exits 0; silent ../out; says ../err '^bandmill: 2 removed; the index holds 298 documents$'
bm index check idx; exits 0
bm index remove idx d5; exits 1; says ../err "warning: the id 'd5' is not in the index"; says ../err '^bandmill: idx: 1 of the ids is not in the index$'
bm index remove idx d5 d8 d5x; exits 1; says ../err '2 of the ids are not in the index'; says ../err '1 removed'
bm index remove idx d9 d5 --json; exits 1; says ../out '"removed": 1'; says ../out '"not_there": 1'
bm index info idx; says ../out '^  documents: 296$'; says ../out '^  removed: 4$'
seq 100 250 | sed s/^/d/ > ids
bm index remove idx --ids ids -q; exits 0
printf 'd20\r\n\nd21' | { bm index remove idx d22 --ids - -q; exits 0; }
bm index info idx; says ../out '^  documents: 142$'
bm index remove idx --ids nowhere; refused 4 'nowhere: '
printf '\357\273\277d40\n' > marked; bm index remove idx --ids marked; exits 0; says ../err '^bandmill: 1 removed; the index holds 141 documents$' # behind a byte order mark
printf 'ok\nbad\\q\n' > bad; bm index remove idx --ids bad; exits 3; says ../err 'bad:2: a broken escape'
# a document that was removed may come again
bm index add idx in.jsonl --duplicate-ids skip; exits 0; says ../err '159 added; the index holds 300 documents'
bm index remove idx --ids ids -q; exits 0
bm index compact idx; exits 0; says ../err 'the index holds 149 documents'
bm index info idx; says ../out '^  removed: 0$'; says ../out '^  documents: 149$'
bm index check idx; exits 0
bm index remove idx d100 -q; exits 1
bm index remove idx d99 -q; exits 0
# through a link
ln -s idx link
bm index compact link -q; exits 0; [ -L link ] || fail "the link was replaced"; bm index add link in.jsonl --duplicate-ids skip -q; exits 0
bm index info idx; says ../out '^  documents: 300$'
[ -z "$(find . -name '*.partial*')" ] || fail "something is left"

# beside a writer: 9, and nothing is changed
mkfifo fifo
"$PROGRAM" index add idx - -q < fifo 2> ../first.err &
job=$!
exec 3> fifo
echo '{"id":"late","text":"of the first job alone and of nobody else"}' >&3
opened() { ls -l "/proc/$job/fd" | grep -q '/idx/data.mdb$'; } # what it does behind the lock
comes opened
bm index add idx in.jsonl --duplicate-ids skip; refused 9 'idx: '
bm index remove idx d1; refused 9 'idx: '
bm index compact idx; refused 9 'idx: '
bm index build idx in.jsonl --force; refused 9 'idx: '
bm index info idx; exits 0; says ../out '^  documents: 300$' # readers see the last commit
bm index check idx; exits 0
exec 3>&-
wait $job || fail "the first job ended with $? $(cat ../first.err)"
bm index remove idx late -q; exits 0
