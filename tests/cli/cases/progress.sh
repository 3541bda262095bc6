# SPDX-License-Identifier: Apache-2.0
# The progress line names the stage and the number of stages, and is never wider than the terminal. Work that is sealed during a job gets a
# line of its own.
# shellcheck shell=sh disable=SC2034,SC2154
i=0
while [ $i -lt 4000 ]; do
    echo "{\"id\":$i,\"text\":\"unlike $i $((i * 7919)) $((i * 104729)) any other $((i * 31)) text $((i * 17)) here\"}"
    i=$((i + 1))
done > many.jsonl

# stages N NAME...: the last command's meter went through these stages, and said of each which of N it is, in order.
stages() {
    checks=$((checks + 1))
    of=$1
    shift
    sed -nE "s/^([a-z]+) ([0-9]+) of $of\\b.*/\\1 \\2/p" ../err | uniq > ../stages
    printf '%s\n' "$@" | cmp -s - ../stages || fail "stages of $of: $(tr '\n' ',' < ../stages) expected $*"
    if grep -qE '^[a-z]+  ' ../err; then fail "a stage that is not numbered"; fi
}

bm sign many.jsonl -o sig --progress always; exits 0; stages 3 'sign 1' 'write 2' 'seal 3'
bm dedup many.jsonl -o out --progress always; exits 0; stages 5 'sign 1' 'match 2' 'group 3' 'write 4' 'seal 5'
bm dedup sig -o staged --verify signature --progress always; exits 0; stages 5 'load 1' 'match 2' 'group 3' 'write 4' 'seal 5'
bm dedup sig -o texts --verify exact --progress always; exits 0; stages 6 'load 1' 'read 2' 'match 3' 'group 4' 'write 5' 'seal 6'
bm pairs many.jsonl -o p.tsv --progress always; exits 0; stages 3 'sign 1' 'match 2' 'write 3'
bm pairs many.jsonl -o all.tsv --candidates all --progress always; exits 0; stages 3 'read 1' 'match 2' 'compare 2' 'write 3'
bm cluster p.tsv --progress always; exits 0; stages 2 'read 1' 'group 2'
bm filter out -o filtered --progress always; exits 0; stages 2 'copy 1' 'seal 2'

# work that is sealed on the way, and at a signal: a line of its own
command_line='BANDMILL_SEAL_SECONDS=0 bandmill dedup many.jsonl -o sealed --batch-docs 1000'
BANDMILL_SEAL_SECONDS=0 "$PROGRAM" dedup many.jsonl -o sealed --batch-docs 1000 --progress always > ../out 2> ../err; rc=$?
exits 0
says ../err '^seal 1 of 5  [1-4],000 documents'
says ../err '^seal 5 of 5'
bm dedup many.jsonl -o quiet -q; exits 0; silent ../err

# on a terminal of any width no line is as long as that
if command -v script > /dev/null; then
    for columns in 20 34 61 80 200; do
        command_line="bandmill dedup many.jsonl on a terminal of $columns columns"
        PROGRAM=$PROGRAM script -qec "stty cols $columns rows 24; \"\$PROGRAM\" dedup many.jsonl -o tty --progress always --batch-docs 500" \
            /dev/null > ../tty 2> ../err < /dev/null
        rc=$?
        exits 0
        rm -rf tty
        tr '\r' '\n' < ../tty | sed -n 's/\x1b\[K.*//p' | grep . > ../lines
        says ../lines '^sign 1 of 5'
        says ../lines '^seal 5 of 5'
        [ "$(awk -v most="$columns" 'length($0) >= most' ../lines)" = '' ] || fail "wider than $columns: $(sort ../lines | uniq)"
    done
fi
