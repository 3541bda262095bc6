# SPDX-License-Identifier: Apache-2.0
# index add --unique --follow: each line of stdin is answered before the next is read, as the definition of --unique has it.
# shellcheck shell=sh disable=SC2034,SC2154
cat > client.py <<'END'
import json, random, subprocess, sys, time
program, index = sys.argv[1:3]
random.seed(4)
words = ["w%d" % i for i in range(200)]
there, n = [], 0
def shingles(text):
    w = text.split()
    return {" ".join(w[i:i + 3]) for i in range(max(1, len(w) - 2))} if w else set()
p = subprocess.Popen([program, "index", "add", index, "--unique", "--follow", "-q"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
seconds = []
for i in range(1500):
    if i % 3 and there:
        text = there[-1][1].split()
        for _ in range(random.randint(0, 2)):
            text[random.randrange(len(text))] = random.choice(words)
        text = " ".join(text)
    else:
        text = " ".join(random.choice(words) for _ in range(30)) if i != 600 else ""
    began = time.perf_counter()
    p.stdin.write(json.dumps({"id": "d%d" % i, "text": text}) + "\n")
    p.stdin.flush()
    rows = []
    while (line := p.stdout.readline()) != "\n":
        assert line, "the program went away"
        rows.append(line.rstrip("\n").split("\t"))
    seconds.append(time.perf_counter() - began)
    mine, best = shingles(text), None
    for id, _, other in there:
        common = len(mine & other)
        if common:
            s = common / (len(mine) + len(other) - common)
            if s >= .6 and (best is None or s > best[0]):
                best = (s, id)
    assert rows == ([["d%d" % i, best[1], "%.6f" % best[0]]] if best else []), (i, rows, best)
    if not best:
        there.append(("d%d" % i, text, mine))
p.stdin.close()
assert p.wait() == 0 and p.stdout.read() == ""
print(len(there))
print("median of %d answers: %.0f us" % (len(seconds), 1e6 * sorted(seconds)[len(seconds) // 2]), file=sys.stderr)
END
printf '' > none.jsonl
bm index build idx none.jsonl --shingle word:3 --bands 40 --rows 2 --threshold .6 -q; exits 0
rc=0; python3 client.py "$PROGRAM" idx > count 2> ../err || { rc=1; fail "the client"; }
bm index info idx; says ../out "^  documents: $(cat count)$"
bm index check idx; exits 0

# ids, bad records, blank lines; no header
line() { printf '{"id":"%s","text":"%s"}\n' "$1" "$2"; }
{ line a 'one two three four five'; echo; line b 'one two three four five'; line c 'quite something else again'; } > lines
bm index build new none.jsonl -q; exits 0
bm index add new --unique --follow < lines; exits 0; printf '\n\nb\ta\t1.000000\n\n\n' | holds ../out
says ../err '2 added; the index holds 2 documents'
bm index add new --unique --follow -q < lines; exits 3; says ../err "^bandmill: -:1: the id 'a' is in the index already, from -:1 "
bm index add new --unique --follow --json --duplicate-ids number -q < lines; exits 0
printf '{"query":"a","target":"a","jaccard":1}\n\n\n{"query":"b","target":"a","jaccard":1}\n\n{"query":"c","target":"c","jaccard":1}\n\n' | holds ../out
{ line d 'yet another text of its own'; echo '{"id":'; line e 'and the last of them all here'; } > bad
cp -r new copy
bm index add copy --unique --follow -q < bad; exits 3; printf '\n' | holds ../out
bm index info copy; says ../out '^  documents: 2$'
bm index add new --unique --follow --on-error skip < bad; exits 0; says ../err 'warning: -:2: skipped: '; printf '\n\n\n' | holds ../out
bm index info new; says ../out '^  documents: 4$'
# replaced within the run, and the one that was there
{ line d 'a text of four words more'; line d 'now it is this one instead'; line f 'a text of four words more'; line g 'now it is this one instead'; } > again
bm index add new --unique --follow --duplicate-ids replace -q < again; exits 0
printf '\n\n\ng\td\t1.000000\n\n' | holds ../out
bm index info new; says ../out '^  documents: 5$'
printf 'w x y z and more\nw x y z and more\n' > texts
bm index add new --unique --follow --format lines --duplicate-ids number -q < texts; exits 0; printf '\n-:2\t-:1\t1.000000\n\n' | holds ../out
bm index add new --unique --follow --format csv < texts; exits 2
# signatures
bm index build sig none.jsonl --store signatures -q; exits 0
bm index add sig --unique --follow -q < lines; exits 0; printf '\n\nb\ta\t1.000000\n\n\n' | holds ../out
bm index check sig; exits 0

# what was added is committed although nothing comes any more, and survives
mkfifo fifo
BANDMILL_SEAL_SECONDS=0.3 "$PROGRAM" index add new --unique --follow -q < fifo > ../follow.out 2> /dev/null &
job=$!
exec 3> fifo
line late 'the last words of this test come late' >&3
seven() { bm index info new && grep -q '^  documents: 7$' ../out; }
comes seven
says ../out '^  documents: 7$'
kill -9 $job
exec 3>&-
wait $job 2> /dev/null
bm index check new; exits 0
bm index remove new late -q; exits 0
