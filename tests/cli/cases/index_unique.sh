# SPDX-License-Identifier: Apache-2.0
# index add --unique compared with its definition, written in Python: documents are taken in input order, and each is compared with all
# documents that the index has and all that were added before it. With 40 bands of 2 rows every pair at .6 and more is a candidate (P > 1 -
# 2e-8), so the definition needs no bands.
# shellcheck shell=sh disable=SC2034,SC2154
cat > model.py <<'END'
import json, random, sys
random.seed(11)
words = ["w%d" % i for i in range(400)]
docs = []
for i in range(900):
    if i % 3 and i > 2:
        text = docs[-random.randint(1, 3)][1].split()
        for _ in range(random.randint(0, 2)):
            text[random.randrange(len(text))] = random.choice(words)
        docs.append(("d%d" % i, " ".join(text)))
    else:
        docs.append(("d%d" % i, " ".join(random.choice(words) for _ in range(40)) if i != 600 else ""))
def shingles(text):
    w = text.split()
    return {" ".join(w[i:i + 3]) for i in range(max(1, len(w) - 2))} if w else set()
sets = [shingles(t) for _, t in docs]
def write(name, lo, hi):
    with open(name, "w") as f:
        for id, text in docs[lo:hi]:
            f.write(json.dumps({"id": id, "text": text}) + "\n")
write("first.jsonl", 0, 300)
write("second.jsonl", 300, 900)
for k in range(7):
    write("part%d.jsonl" % k, 300 + 600 * k // 7, 300 + 600 * (k + 1) // 7)
def unique(threshold):
    there, rows = list(range(300)), []
    for i in range(300, 900):
        best = None
        for j in there:
            common = len(sets[i] & sets[j])
            if not common:
                continue
            s = common / (len(sets[i]) + len(sets[j]) - common)
            if s >= threshold and (best is None or s > best[0]):
                best = (s, j)
        if best:
            rows.append("%s\t%s\t%.6f" % (docs[i][0], docs[best[1]][0], best[0]))
        else:
            there.append(i)
    with open("want%s" % threshold, "w") as f:
        f.write("query\ttarget\tjaccard\n" + "".join(r + "\n" for r in rows))
    print(len(there))
print("ok", file=sys.stderr)
unique(0.6)
unique(0.8)
END
python3 model.py > counts 2> /dev/null || fail "the model"
count6=$(sed -n 1p counts)
count8=$(sed -n 2p counts)
bm index build base first.jsonl --shingle word:3 --bands 40 --rows 2 --threshold .6 -q; exits 0

fresh() { rm -rf idx; cp -r base idx; }
for how in '' '--threads 1' '--threads 8' '--batch-docs 1' '--batch-docs 17 --threads 3' '--memory 24M --threads 2'; do
    fresh
    # shellcheck disable=SC2086 # words
    bm index add idx second.jsonl --unique $how -q; exits 0
    holds ../out < want0.6
    bm index info idx; says ../out "^  documents: $count6$"
done
bm index check idx; exits 0
fresh
bm index add idx second.jsonl --unique --threshold .8 -q; exits 0; holds ../out < want0.8
bm index info idx; says ../out "^  documents: $count8$"
# in seven adds
fresh
head -n 1 want0.6 > got
for k in 0 1 2 3 4 5 6; do
    bm index add idx part$k.jsonl --unique -q; exits 0
    tail -n +2 ../out >> got
done
holds got < want0.6
bm index info idx; says ../out "^  documents: $count6$"
# as JSON Lines; and what is said of it
fresh
bm index add idx second.jsonl --unique --json; exits 0
python3 -c '
import json
rows = [json.loads(l) for l in open("../out")]
print("query\ttarget\tjaccard")
for r in rows:
    print("%s\t%s\t%.6f" % (r["query"], r["target"], r["jaccard"]))' > rows
holds rows < want0.6
fresh
bm index add idx second.jsonl --unique; says ../err "were not added, for they reach the threshold"; says ../err "the index holds $count6 documents"
# all again: whatever has shingles is there
bm index add idx second.jsonl --unique --duplicate-ids number -q; exits 0
[ "$(wc -l < ../out)" = 600 ] || fail "some are unique again" # 599 with shingles, and the header
# the document of its own id is no match where it is replaced
fresh
head -n 50 first.jsonl > again.jsonl
bm index add idx again.jsonl --unique --duplicate-ids replace -q; exits 0
bm index info idx; says ../out '^  documents: 300$'
# signatures: estimates, the same for any batch
bm index build sig first.jsonl --store signatures --shingle word:3 --bands 40 --rows 2 --perms 128 --threshold .6 -q; exits 0
rm -rf idx; cp -r sig idx; bm index add idx second.jsonl --unique -q --threads 8; exits 0; cp ../out one
rm -rf idx; cp -r sig idx; bm index add idx second.jsonl --unique -q --threads 1 --batch-docs 3; exits 0; holds ../out < one
[ "$(wc -l < one)" -gt 200 ] || fail "few rows"
