# SPDX-License-Identifier: Apache-2.0
# pairs --candidates all: the rows and counts are the same whether sets and edges are in memory or in files; memory stays within --memory
# and 64 MiB; all planted pairs at the threshold are found; nothing is left in the directory.
# shellcheck shell=sh disable=SC2034,SC2154
peak_of() { sed -n 's/^ *"peak_resident_bytes": *\([0-9]*\),*/\1/p' "$1"; }
run_less() { sed '/^  "run": {/,/^  }/d' "$1"; } # a report without what varies
mkdir temp
n=60000 # 70 MB of sets, 108 MiB resident where all of it is in memory
[ "${BANDMILL_TEST_SIZE:-normal}" != small ] || n=12000
"$PLANTED" $n --truth truth.tsv > in.jsonl

all() { # all NAME MEMORY THRESHOLD INPUT OPTION…
    name=$1 memory=$2 threshold=$3 input=$4
    shift 4
    bm pairs "$input" --candidates all --threshold "$threshold" --memory "$memory" --threads 2 --temp-dir temp -o "$name.tsv" \
        --report "$name.json" --force "$@"
    exits 0
    checks=$((checks + 1))
    [ -z "$(ls -A temp)" ] || fail "something is left in --temp-dir: $(ls -A temp)"
}
same() { # same NAME NAME
    checks=$((checks + 1))
    cmp -s "$1.tsv" "$2.tsv" || fail "$1.tsv and $2.tsv differ"
    run_less "$1.json" > expected.json
    run_less "$2.json" > got.json
    holds got.json < expected.json
}

all plenty 8G 0.8 in.jsonl
says plenty.json '"sets_from": "memory"'
if [ $n = 60000 ]; then # fewer fit; below is what does not
    all little 32M 0.8 in.jsonl -v
    says ../err 'documents were compared through [0-9]* indexes'
    says ../err 'counted in [2-9]' # counters did not fit either
    says little.json '"sets_from": "file"'
    same plenty little
fi
if [ $n = 60000 ] && [ "${BANDMILL_RESIDENT:-yes}" = yes ]; then
    checks=$((checks + 1))
    [ "$(peak_of little.json)" -le $(((32 + 64) * 1048576)) ] || fail "$(peak_of little.json) bytes resident, --memory 32M"
fi
# exactly those that were planted, with their similarity
awk -F '\t' 'FNR > 1 && $3 >= .8 { print ($1 < $2 ? $1 "\t" $2 : $2 "\t" $1) "\t" $3 }' truth.tsv | LC_ALL=C sort > wanted
awk -F '\t' 'FNR > 1 { print ($1 < $2 ? $1 "\t" $2 : $2 "\t" $1) "\t" $3 }' plenty.tsv | LC_ALL=C sort > found
holds found < wanted

# sets that fit, but leave too little for an index, move; copies; many pairs, which lie in runs; from signatures; a sample
head -n 8000 in.jsonl > some.jsonl
"$PLANTED" 800 --mode one-word | sed 's/"id":"/"id":"w/' >> some.jsonl
head -n 700 some.jsonl | sed 's/"id":"/"id":"copy/' >> some.jsonl
all some 8G 0.3 some.jsonl
budgets='40M 34M 24M'
[ $n = 60000 ] || budgets=24M
for memory in $budgets; do
    all "some$memory" $memory 0.3 some.jsonl
    same some "some$memory"
done
says some24M.json '"edge_bytes": [1-9]'
bm sign some.jsonl -o sigs -q; exits 0
for memory in 8G 24M; do all "sigs$memory" $memory 0.3 sigs; done
same sigs8G sigs24M
says sigs24M.json '"sets_from": "file"'
holds sigs24M.tsv < some.tsv
for memory in 8G 24M; do all "sample$memory" $memory 0.1 some.jsonl --sample 2000; done
same sample8G sample24M

# too little: the message names what would do
awk 'BEGIN { for (d = 0; d < 20; d++) { printf "{\"id\":\"%d\",\"text\":\"", d; for (i = 0; i < 60000; i++) printf "%d ", i + d * 100; print "\"}" } }' \
    > long.jsonl
bm pairs long.jsonl --candidates all --threshold 0.1 --memory 28M --threads 2 --temp-dir temp -o none.tsv
refused 6 'comparing all pairs needs [0-9]+ MiB beside the documents, and --memory leaves [0-9]+ MiB'
absent none.tsv
