# SPDX-License-Identifier: Apache-2.0
# index add that is interrupted: committed batches stay, which are the first ones in input order, and --resume continues after them.
# shellcheck shell=sh disable=SC2034,SC2154
python3 - <<'END'
import json, random
random.seed(2)
words = ["w%d" % i for i in range(300)]
def write(name, lo, hi, extra=""):
    with open(name, "w") as f:
        for i in range(lo, hi):
            text = " ".join(words[(i * 7 + j * j) % 300] for j in range(40))
            f.write(json.dumps({"id": "d%d" % i, "text": "%d %s" % (i, text)}) + "\n")
        f.write(extra)
write("first.jsonl", 0, 50)
write("a.jsonl", 50, 2000)
write("b.jsonl", 2000, 4000)
write("broken.jsonl", 2000, 2200, '{"id":\n')
END
bm index build base first.jsonl -q; exits 0
cp -r base whole; bm index add whole a.jsonl b.jsonl -q; exits 0
# sound INDEX: its documents are d0 … without a gap; how many in $n
sound() {
    bm index check "$1" -q; exits 0
    bm index info "$1"; n=$(sed -n 's/^  documents: //p' ../out)
    rm -rf copy; cp -r "$1" copy
    seq 0 $((n - 1)) | sed s/^/d/ > ids
    bm index remove copy --ids ids -q; exits 0
    bm index info copy; says ../out '^  documents: 0$'
}

# killed, interrupted, at any moment; commits after each batch
export BANDMILL_SEAL_SECONDS=0
ways='KILL INT TERM KILL' quick=12
[ "${BANDMILL_TEST_SIZE:-normal}" != small ] || { ways='KILL INT' quick=6; }
for how in $ways; do
    rm -rf idx; cp -r base idx
    rounds=0
    rc=1
    while [ "$rc" != 0 ] && [ $rounds -lt 30 ]; do
        "$PROGRAM" index add idx a.jsonl b.jsonl --resume --batch-docs 1 --threads 2 -q > ../out 2> ../err &
        job=$!
        sleep "0.0$(((rounds * 37 + 13) % 50 + 10))"
        [ $rounds -ge $quick ] || kill -$how $job 2> /dev/null # in the end it may come to its end
        wait $job
        rc=$?
        case $how.$rc in
        *.0 | KILL.137 | TERM.143) ;;
        INT.130) says ../err 'interrupted' ;;
        *) fail "$how: exit code $rc" ;;
        esac
        sound idx
        rounds=$((rounds + 1))
        rc=$((n == 4000 ? 0 : 1))
    done
    [ "$n" = 4000 ] || fail "it never ends: $n documents"
done
unset BANDMILL_SEAL_SECONDS
# all is there: nothing to do, and nothing is repeated
bm index add idx a.jsonl b.jsonl --resume; exits 0; says ../err '0 added; the index holds 4,000'
bm index add idx a.jsonl b.jsonl; refused 3 "a.jsonl:1: the id 'd50' is in the index already, from a.jsonl:1 "
# more at the end of the last input is added
{ cat b.jsonl; echo '{"id":"new","text":"some more words of the end"}'; } > more && mv more b.jsonl
bm index add idx a.jsonl b.jsonl --resume; exits 0; says ../err '1 added; the index holds 4,001'

# other options, other inputs, changed ones
export BANDMILL_SEAL_SECONDS=0
rm -rf idx; cp -r base idx
bm index add idx a.jsonl broken.jsonl --batch-docs 5; exits 3
says ../err '^bandmill: broken.jsonl:201: .*what was read up to the last commit stays in the index, and the same command with --resume continues'
sound idx; [ "$n" -gt 50 ] || fail "only $n documents were committed"
unset BANDMILL_SEAL_SECONDS
bm index add idx a.jsonl broken.jsonl --resume --id-field id; refused 7 'idx: the interrupted add of these inputs had other options'
cp -r idx kept
sed -i '$d' broken.jsonl # repaired behind the place
bm index add idx a.jsonl broken.jsonl --resume -q; exits 0; sound idx; [ "$n" = 2200 ] || fail "$n documents, not 2200"
rm -rf idx; cp -r kept idx
touch a.jsonl
bm index add idx a.jsonl broken.jsonl --resume; refused 7 'idx: inputs have changed since the add of them was interrupted'
sed -i '3s/w1/w2/' broken.jsonl
rm -rf idx; cp -r base idx; bm index add idx broken.jsonl -q; exits 0
sed -i '3s/w2/w1/' broken.jsonl
bm index add idx broken.jsonl --resume; exits 7; says ../err '^bandmill: broken.jsonl: '
bm index add idx first.jsonl --resume; refused 3 "first.jsonl:1: the id 'd0' is in the index already"
