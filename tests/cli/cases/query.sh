# SPDX-License-Identifier: Apache-2.0
# query: rows, order, --top, --threshold, --skip-same-id, --json, -o, exit codes; an index and --targets give the same bytes. With word:1 a
# document is the set of its words: of "a b c d e f g h i j" the others share ten of ten, nine of eleven, five of fifteen. 128 bands
# of one row miss a pair at 1/3 with a chance of 10^-23.
# shellcheck shell=sh disable=SC2034,SC2154
cat > t.jsonl << 'END'
{"id":"third","text":"a b c d e v w x y zz"}
{"id":"near","text":"a b c d e f g h i z"}
{"id":"same","text":"j i h g f e d c b a"}
{"id":"other","text":"k0 k1 k2 k3 k4 k5 k6 k7 k8 k9"}
{"id":"too\tsame","text":"a b c d e f g h i j"}
{"id":"empty","text":""}
END
cat > q.jsonl << 'END'
{"id":"q1","text":"a b c d e f g h i j"}
{"id":"none","text":"nothing like it anywhere"}
{"id":"blank","text":""}
{"id":"near","text":"z i h g f e d c b a"}
END
plan='--shingle word:1 --bands 128 --rows 1 --threshold 0.25'
# shellcheck disable=SC2086
bm index build ix t.jsonl $plan; exits 0
bm query ix q.jsonl; exits 0
cp ../out rows.tsv
printf 'query\ttarget\tjaccard
q1\tsame\t1.000000
q1\ttoo\\tsame\t1.000000
q1\tnear\t0.818182
q1\tthird\t0.333333
near\tnear\t1.000000
near\tsame\t0.818182
near\ttoo\\tsame\t0.818182
near\tthird\t0.333333
' | holds rows.tsv
says ../err '8 answers to 4 queries'

# no index is left, and the rows are the same; so they are for any threads, batch and memory
for more in '' '--threads 1' '--threads 3 --batch-docs 1' '--memory 64M'; do
    # shellcheck disable=SC2086
    bm query --targets t.jsonl q.jsonl $plan $more; exits 0
    holds ../out < rows.tsv
    # shellcheck disable=SC2086
    bm query ix q.jsonl $more; exits 0
    holds ../out < rows.tsv
done
head -n 3 t.jsonl > t1.jsonl; tail -n 3 t.jsonl > t2.jsonl
# shellcheck disable=SC2086
bm query --targets t1.jsonl --targets t2.jsonl - $plan < q.jsonl; exits 0
holds ../out < rows.tsv
[ -z "$(find . -name '*.mdb' ! -path './ix/*')" ] || fail "an index was left"

# the best of each, by similarity, then by number
bm query ix q.jsonl --top 1; exits 0
printf 'query\ttarget\tjaccard\nq1\tsame\t1.000000\nnear\tnear\t1.000000\n' | holds ../out
bm query ix q.jsonl --skip-same-id --top 2; exits 0
printf 'query\ttarget\tjaccard\nq1\tsame\t1.000000\nq1\ttoo\\tsame\t1.000000\nnear\tsame\t0.818182\nnear\ttoo\\tsame\t0.818182\n' | holds ../out

# another threshold than the plan's: the output tells its recall
bm query ix q.jsonl --threshold 0.9; exits 0
printf 'query\ttarget\tjaccard\nq1\tsame\t1.000000\nq1\ttoo\\tsame\t1.000000\nnear\tnear\t1.000000\n' | holds ../out
says ../err 'chosen for --threshold 0.25: they find 100.0 % of the pairs at 0.9'
bm query ix q.jsonl --threshold 0.25; exits 0
if grep -q 'chosen for' ../err; then fail "the plan's own threshold was told"; fi
bm query ix q.jsonl --threshold 0.01; exits 0
says ../err 'chosen for --threshold 0.25: they find 72.4 % of the pairs at 0.01'

# JSON Lines on stdout; a file holds the table, and the summary is on stdout then
bm query ix q.jsonl --json --top 1; exits 0
printf '{"query":"q1","target":"same","jaccard":1}\n{"query":"near","target":"near","jaccard":1}\n' | holds ../out
bm query ix q.jsonl -o out.tsv; exits 0
holds out.tsv < rows.tsv
bm query ix q.jsonl -o out.tsv; refused 2 'out\.tsv'
bm query ix q.jsonl -o out.tsv --force --json; exits 0
holds out.tsv < rows.tsv
says ../out '"kind": "query"'
says ../out '"edges": 8'

# nothing found: exit 1, and one line says so; an output is written all the same
head -n 3 q.jsonl | tail -n 2 > no.jsonl
bm query ix no.jsonl -q; exits 1
printf 'query\ttarget\tjaccard\n' | holds ../out
says ../err '^bandmill: no document reaches the threshold 0.25'
bm query ix no.jsonl -o none.tsv; exits 1
printf 'query\ttarget\tjaccard\n' | holds none.tsv
: > nothing.jsonl
bm query ix nothing.jsonl; exits 1
# shellcheck disable=SC2086
bm query --targets nothing.jsonl q.jsonl $plan; exits 1

# signatures: estimates, from an index or from targets
# shellcheck disable=SC2086
bm index build sx t.jsonl $plan --store signatures; exits 0
bm query sx q.jsonl; exits 0
cp ../out estimates.tsv
says estimates.tsv "$(printf '^q1\tsame\t1.000000$')"
# shellcheck disable=SC2086
bm query --targets t.jsonl q.jsonl $plan --verify signature; exits 0
holds ../out < estimates.tsv
bm query sx q.jsonl --verify exact; refused 2 '--verify exact contradicts'
bm query ix q.jsonl --verify signature; refused 2 '--verify signature contradicts'

# the rows of pairs between queries and targets, with the same plan
cat t.jsonl > both.jsonl
sed 's/"id":"near"/"id":"q4"/' q.jsonl >> both.jsonl
# shellcheck disable=SC2086
bm pairs both.jsonl $plan; exits 0
awk -F '\t' '$1 !~ /^q/ && $2 ~ /^q/ { print $2 "\t" $1 "\t" $3 }' ../out | sort > of_pairs.tsv
tail -n +2 rows.tsv | sed 's/^near/q4/' | sort | holds of_pairs.tsv

# pages are told with -v
bm query ix q.jsonl -v; exits 0
says ../err 'pages a query: [0-9.]+ read from the disk'

# identical queries in a crowded bucket: the first of them is looked up, and answers for all, also where memory holds few answers
awk 'BEGIN {for (i = 0; i < 3000; i++) printf "{\"id\":\"t%d\",\"text\":\"one two three four five six seven\"}\n", i}' > crowd.jsonl
awk 'BEGIN {for (i = 0; i < 3000; i++) printf "{\"id\":\"q%d\",\"text\":\"%s\"}\n", i, i % 100 == 7 ? "nothing of the kind, number " i : "one two three four five six seven"}' > asked.jsonl
awk 'BEGIN {print "query\ttarget\tjaccard"; for (i = 0; i < 3000; i++) if (i % 100 != 7) printf "q%d\tt0\t1.000000\nq%d\tt1\t1.000000\n", i, i}' > expected.rows
bm index build crowd crowd.jsonl -q; exits 0
for more in '' '--memory 32M --threads 2' '--threads 1 --batch-docs 7'; do
    bm query crowd asked.jsonl --top 2 $more; exits 0
    holds ../out < expected.rows
    says ../err '5,940 answers to 3,000 queries; 8,910,000 candidates, all verified' # 2,970 times 3,000
done

# of a key the first 20,000 documents are candidates, with and without threads, alone and among others; what is left out is counted
awk 'BEGIN {for (i = 0; i < 20004; i++) printf "{\"id\":\"t%d\",\"text\":\"one two three four five six seven\"}\n", i}' > crowd.jsonl
printf '{"id":"q","text":"one two three four five six seven"}\n' > asked.jsonl
bm index build large crowd.jsonl --bands 5 --rows 2 -q; exits 0
bm index remove large t1 t20002 -q; exits 0 # 20,002 are there
for more in - '- --memory 32M --threads 1' --follow; do
    # shellcheck disable=SC2086
    bm query large $more --top 2 < asked.jsonl; exits 0
    says ../out 't0	1.000000'
    says ../err 'not compared: up to 10 pairs of crowded buckets' # 2 a band
done
bm query large asked.jsonl -q; exits 0
tail -n 1 ../out | holds - <<'END'
q	t20000	1.000000
END
awk 'BEGIN {for (i = 0; i < 30; i++) printf "{\"id\":\"q%d\",\"text\":\"one two three four five six seven\"}\n", i}' > many.jsonl
bm query large many.jsonl --top 1 --skip-same-id; exits 0
says ../err '30 answers to 30 queries; 600,000 candidates, all verified'
says ../err 'not compared: up to 300 pairs of crowded buckets'
bm dedup --against large many.jsonl -o against; exits 0
says ../err 'not compared: up to 10 pairs of crowded buckets' # one stands for 30
says against/report.json '"not_compared": *10'

# the bound is one of all keys of a query: two halves of a query share bands with 12,000 documents each, none of which has both. The first
# 20,000 of these 24,000 are its candidates, 10,000 of each kind, and the copy of the query behind them is none
awk 'BEGIN {
    for (i = 0; i < 24000; i++) {
        text = "own" i
        for (w = 0; w < 10; w++) text = text " " (i % 2 ? "odd" : "even") w
        printf "{\"id\":\"t%d\",\"text\":\"%s\"}\n", i, text
    }
}' > crowd.jsonl
awk 'BEGIN {for (w = 0; w < 10; w++) text = text " odd" w " even" w; printf "{\"id\":\"q\",\"text\":\"%s\"}\n", text}' > asked.jsonl
{ cat crowd.jsonl; sed 's/"q"/"copy"/' asked.jsonl; } > with-copy.jsonl
awk 'BEGIN {print "query\ttarget\tjaccard"; for (i = 0; i < 20000; i++) print "q\tt" i "\t0.476190"}' > expected.rows
bm index build halves with-copy.jsonl --shingle word:1 --bands 16 --rows 1 --threshold .4 -q; exits 0
for more in '' '--memory 32M --threads 1' '--threads 8'; do
    # shellcheck disable=SC2086
    bm query halves asked.jsonl $more; exits 0
    holds ../out < expected.rows
    says ../err 'not compared: up to [0-9,]+ pairs of crowded buckets'
done

# containment: of the query's five words; best first; an index is read through, and says so; one of signatures has no sets
cat > whole.jsonl << 'END'
{"id":"far","text":"v w x y z"}
{"id":"most","text":"a b c d w x y z l m n o p q r s t u"}
{"id":"all","text":"a b c d e w x y z l m n o p q r s t u"}
END
printf '{"id":"part","text":"a b c d e"}\n' > part.jsonl
for store in sets signatures; do
    bm index build whole.$store whole.jsonl --shingle word:1 --store $store --device cpu; exits 0
done
printf 'query\ttarget\tcontainment\npart\tall\t1.000000\npart\tmost\t0.800000\n' > contained.tsv
bm query whole.sets part.jsonl --measure containment; exits 0; says ../err 'no table for containment: its 3 documents are scanned'
holds ../out < contained.tsv
bm query whole.sets part.jsonl --measure containment --threshold 0.81 --json; exits 0
printf '{"query":"part","target":"all","containment":1}\n' | holds ../out
bm query whole.sets part.jsonl; exits 1
bm query --targets whole.jsonl part.jsonl --shingle word:1 --measure containment -o c.tsv --report c.json; exits 0
holds c.tsv < contained.tsv
says c.json '"plan": null'
bm query --targets whole.jsonl part.jsonl --shingle word:1 --measure containment -o c.tsv --force; exits 0
bm query whole.signatures part.jsonl --measure containment; refused 2 '--measure containment needs sets, .*whole\.signatures keeps signatures'
bm query --targets whole.jsonl part.jsonl --measure containment --verify signature; refused 2 '--verify signature with --measure containment'
