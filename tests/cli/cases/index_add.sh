# SPDX-License-Identifier: Apache-2.0
# index add: the same documents in several adds, with removals and replacements between, hold and answer the same as in one build.
# shellcheck shell=sh disable=SC2034,SC2154
python3 - <<'END'
import json, random
random.seed(5)
words = ["w%d" % i for i in range(300)]
docs = []
for i in range(1400):
    if i % 3:
        text = docs[-1][1].split()
        text[random.randrange(len(text))] = random.choice(words)
    else:
        text = [random.choice(words) for _ in range(50)]
    docs.append(("d%d" % i, " ".join(text)))
def write(name, rows):
    open(name, "w").writelines(json.dumps({"id": i, "text": t}) + "\n" for i, t in rows)
write("all.jsonl", docs)
write("queries.jsonl", [("q" + i, t) for i, t in docs[::7]])
for k in range(7):
    write("part%d.jsonl" % k, docs[200 * k:200 * k + 200])
write("other.jsonl", [("x%d" % i, t) for i, (_, t) in enumerate(docs[::5])])
write("wrong.jsonl", [(i, "something else altogether " + t[:40]) for i, t in docs[:200:3]])
END
# answers INDEX FILE: to all queries, each the best that there is
answers() {
    cp -r "$1" asked
    bm index add asked queries.jsonl --unique --threshold .3 -q; exits 0
    rm -r asked
}
set -- --threshold .5 --shingle word:2
bm index build whole all.jsonl "$@" -q; exits 0
bm index build whole1 all.jsonl "$@" -q --threads 1 --memory 24M; exits 0
answers whole; cp ../out want
[ "$(wc -l < want)" = 201 ] || fail "not every query has an answer" # each is a copy of a document
answers whole1; holds ../out < want

for threads in 1 2 8; do
    rm -rf parts
    bm index build parts part0.jsonl "$@" -q --threads $threads; exits 0
    for k in 1 2 3; do bm index add parts part$k.jsonl -q --threads $threads --batch-docs 13; exits 0; done
    # what does not stay: documents that are removed again, and others that are replaced by what they should be
    bm index add parts other.jsonl -q --threads $threads; exits 0
    bm index add parts wrong.jsonl --duplicate-ids replace -q; exits 0
    sed 's/.*"id": "\([^"]*\)".*/\1/' other.jsonl > ids
    bm index remove parts --ids ids -q; exits 0
    for k in 4 5 6; do bm index add parts part$k.jsonl -q --threads $threads; exits 0; done
    bm index add parts part0.jsonl --duplicate-ids replace -q --threads $threads; exits 0
    bm index check parts; exits 0
    bm index info parts; says ../out '^  documents: 1400$'
    # replaced documents are the last now, so equal matches may be others: similarities are the same
    answers parts; cut -f 1,3 ../out > got; cut -f 1,3 want > ../want3; holds got < ../want3
done
bm index compact parts -q; exits 0
answers parts; cut -f 1,3 ../out > got; holds got < ../want3

# what went wrong stays out: the index is as before
cp -r whole before
printf '{"id":"n1","text":"new words here that nobody has"}\n{"id":"n2"\n' > bad.jsonl
bm index add whole bad.jsonl; refused 3 'bad.jsonl:2: '
bm index info whole; says ../out '^  documents: 1400$'
bm index add whole bad.jsonl --on-error skip; exits 0; says ../err '1 added; the index holds 1,401'
bm index add whole nowhere.jsonl; refused 4 'nowhere.jsonl: '
mkdir texts && echo 'one two three four' > texts/a.txt && echo 'five six seven' > texts/b.txt
bm index add whole texts; exits 0; says ../err '2 added'
bm index remove whole texts/a.txt -q; exits 0
printf 'id\ttext\nt1\tof a table\n' > t.tsv
bm index add whole t.tsv -q; exits 0
gzip -k part0.jsonl; bm index add whole part0.jsonl.gz --duplicate-ids skip -q; exits 0
printf '%s\n' t.tsv > list; bm index add whole --files-from list --duplicate-ids skip -q; exits 0
bm index add whole - -q < queries.jsonl; exits 0
bm index add whole queries.jsonl; refused 3 "queries.jsonl:1: the id 'qd0' is in the index already, from -:1 "
bm index check whole; exits 0
bm index add whole part0.jsonl --duplicate-ids number --json; exits 0; says ../out '"numbered": 200'; says ../out '"kind": "index add"'
# a read-only index
if [ "$(id -u)" != 0 ]; then chmod -R a-w whole; bm index add whole t.tsv; exits 4; chmod -R u+w whole; fi

# shingle hashes of others: the index knows whose they are
python3 - <<'END'
import struct
def npy(name, descr, values):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }" % (descr, len(values))
    head += " " * (-(len(head) + 11) % 64) + "\n"
    open(name, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() +
                           struct.pack("<%dq" % len(values), *values))
npy("h.npy", "<u8", list(range(1, 31)))
npy("o.npy", "<i8", [0, 10, 20, 30])
END
bm index build hashes h.npy --format hashes --offsets o.npy -q; exits 0
bm index info hashes; says ../out '^  hash: given$'
bm index add hashes part0.jsonl; refused 2 'shingles are hashed by xxh3 here, in the index hashes by given'
bm index add whole h.npy --format hashes --offsets o.npy; refused 2 'shingles are hashed by given here, in the index whole by xxh3'
bm index add hashes h.npy --format hashes --offsets o.npy --unique --duplicate-ids number -q; exits 0; [ "$(wc -l < ../out)" = 4 ] || fail "not known again"
