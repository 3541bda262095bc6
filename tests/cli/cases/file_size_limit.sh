# SPDX-License-Identifier: Apache-2.0
# A limit on the size of files (RLIMIT_FSIZE) counts as a full disk: exit code 4 for any output or temporary file that meets it, and nothing
# is left. The system reports the limit by a signal that ends a process unless the process ignores it; our program does.
# shellcheck shell=sh disable=SC2034,SC2154
i=0
while [ $i -lt 600 ]; do
    echo "{\"id\":\"document number $i\",\"text\":\"alike in many words of a text $((i / 2)) $((i / 2 * 7919)) and some more that follow it\"}"
    i=$((i + 1))
done > in.jsonl
head -n 10 in.jsonl > few.jsonl
bm dedup in.jsonl -o result --pairs; exits 0
bm sign in.jsonl -o signatures; exits 0

limited() { # limited BLOCKS ARGS…: with files of at most that many blocks of 512 bytes, rows of stdout in ../out
    blocks=$1
    shift
    command_line="(ulimit -f $blocks) bandmill $*"
    (ulimit -f "$blocks"; exec "$PROGRAM" "$@") > ../out 2> ../err
    rc=$?
}

for command in sign dedup; do
    limited 2 "$command" in.jsonl -o out; refused 4 'out.*[Ff]ile too large'; absent out
done
limited 2 dedup signatures -o out; refused 4 'out.*[Ff]ile too large'; absent out
limited 2 filter result -o out; refused 4 'out.*[Ff]ile too large'; absent out
limited 2 pairs in.jsonl -o rows.tsv; refused 4 'rows\.tsv: .*[Ff]ile too large'; absent rows.tsv
limited 2 cluster result/pairs.tsv -o groups.jsonl; refused 4 'groups\.jsonl: .*[Ff]ile too large'; absent groups.jsonl
limited 1 explain result --group 1 --json -o why.json
[ "$rc" = 0 ] || refused 4 'why\.json: .*[Ff]ile too large'
for kept in gz zst; do
    limited 2 dedup in.jsonl -o out --kept $kept; refused 4 'out.*[Ff]ile too large'; absent out
done

# Rows on standard output, and the files beside them.
limited 1 pairs in.jsonl; exits 4; says ../err 'standard output: .*[Ff]ile too large'
limited 1 pairs few.jsonl --histogram histogram.tsv; exits 4; says ../err 'histogram\.tsv: .*[Ff]ile too large'
absent histogram.tsv
limited 1 pairs few.jsonl --report report.json; exits 4; says ../err 'report\.json: .*[Ff]ile too large'
absent report.json
limited 1 pairs few.jsonl --histogram-svg histogram.svg; exits 4; says ../err 'histogram\.svg: .*[Ff]ile too large'
absent histogram.svg

# Temporary files: sets, keys and edges that do not fit into the memory.
i=0
while [ $i -lt 40 ]; do
    cat in.jsonl
    i=$((i + 1))
done | awk '{ $2 = NR; $3 = $3 " " int(NR / 3); print }' > many.jsonl
mkdir temporary
limited 200 dedup many.jsonl --bands 100 --rows 1 --memory 24M --threads 2 --temp-dir temporary -o out
exits 4
says ../err '[Ff]ile too large'
[ -z "$(ls -A temporary)" ] || fail "left in the temporary directory: $(ls -A temporary)"
[ ! -e out ] || fail "an output"

# an index: a build leaves nothing, an add leaves it as at the last commit, whole, and another one goes on
limited 100 index build idx in.jsonl; refused 4 'idx.*(too large|full|No space)'; absent idx
bm index build idx few.jsonl -q; exits 0
tail -n +11 in.jsonl > more.jsonl
now=$(stat -c %s idx/data.mdb)
for more in 8 120 2000; do
    limited $((now / 512 + more)) index add idx more.jsonl
    [ "$rc" = 0 ] || refused 4 '.*([Ff]ile too large|full|No space|Input/output error)'
    bm index check idx; exits 0
    bm index info idx
    grep -qE '^  documents: (10|600)$' ../out || fail "neither before nor after"
done
bm index add idx more.jsonl --duplicate-ids skip -q; exits 0
bm index info idx; says ../out '^  documents: 600$'
limited 100 index compact idx; refused 4 '.*([Ff]ile too large|full|No space|Input/output error)'
bm index check idx; exits 0; bm index info idx; says ../out '^  documents: 600$'
[ -z "$(find . -name 'idx.partial*')" ] || fail "something is left of the index"
