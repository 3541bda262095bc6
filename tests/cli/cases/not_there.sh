# SPDX-License-Identifier: Apache-2.0
# "Cannot be read" (4) and "damaged" (7) are never treated as "does not exist": for a report beside pairs, an index, and a directory that
# cannot be examined. And a job that may open no more files leaves nothing.
# shellcheck shell=sh disable=SC2034,SC2154
awk 'BEGIN { srand(7)
    for (i = 0; i < 60; i++) {
        if (i % 4 != 3) { text = ""; for (w = 0; w < 40; w++) text = text " " int(rand() * 900) }
        else sub(/ [0-9]+$/, " other", text)
        printf "{\"id\":\"d%d\",\"text\":\"%s\"}\n", i, text
    } }' > in.jsonl
bm dedup in.jsonl -o out --pairs --threshold 0.6 --cluster star; exits 0
bm index build index in.jsonl; exits 0
bm sign in.jsonl -o sig; exits 0

flip() { printf "\\$(printf %03o $(($(od -An -tu1 -j "$2" -N 1 "$1") ^ $3)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }

# `cluster` takes its rules from the report beside the pairs: a damaged one is not another's.
cp out/report.json ../report.json
size=$(wc -c < ../report.json)
for i in $(seq 0 59); do
    flip out/report.json $((i * size / 60)) $((1 << i % 8))
    bm cluster out/pairs.tsv -o groups.jsonl; refused 7 '.*report.json'
    absent groups.jsonl
    cp ../report.json out/report.json
done
name=$(grep -bo bandmill ../report.json | head -n 1 | cut -d : -f 1)
for i in $(seq 0 7); do # the name of the tool, by which it is known
    flip out/report.json $((name + i)) 1
    bm cluster out/pairs.tsv -o groups.jsonl; refused 7 '.*report.json'
    cp ../report.json out/report.json
done
for bytes in 0 60 500 $((size / 2)) $((size - 3)); do
    head -c "$bytes" ../report.json > out/report.json
    bm cluster out/pairs.tsv -o groups.jsonl; refused 7 '.*report.json'
done
rm out/report.json
ln -s report.json out/report.json # a circle: nobody can tell what is there
bm cluster out/pairs.tsv -o groups.jsonl; refused 4 '.*report.json'
rm out/report.json
for other in '{"report": "of another tool"}' 'no JSON'; do
    echo "$other" > out/report.json
    bm cluster out/pairs.tsv -o groups.jsonl; exits 0
    rm groups.jsonl
done
mkdir empty; cp out/pairs.tsv empty
bm cluster empty/pairs.tsv -o groups.jsonl; exits 0
cp ../report.json out/report.json

# The same of a directory of signatures: of its manifest nothing is left that tells whose it was.
cp sig/manifest.json ../manifest.json
tr -c '\n' x < ../manifest.json > sig/manifest.json
bm dedup sig -o made; refused 7 '.*manifest.json'
cp ../manifest.json sig/manifest.json

# Too many open files: nobody says that there is no index, or no directory of signatures, and nothing is left of a job.
mkdir -p parts/a parts/b
head -n 30 in.jsonl > parts/a/1.jsonl
tail -n 30 in.jsonl > parts/b/2.jsonl
sed 's/"d/"new/' in.jsonl > new.jsonl
# few N COMMAND…: with N descriptors, at most
few() {
    n=$1
    shift
    command_line="ulimit -n $n; bandmill $*"
    # shellcheck disable=SC2016
    sh -c 'ulimit -n "$0" && exec "$@"' "$n" "$PROGRAM" "$@" > ../out 2> ../err < /dev/null
    rc=$?
    checks=$((checks + 1))
    case $rc in
    0) ;;
    127) ;; # the loader found no descriptor for a library
    4) [ -z "$said" ] || ! grep -qE "$said" ../err || fail "says $said" ;;
    *) fail "exit code $rc, expected 4" ;;
    esac
}
said='is no|is not an|no index|missing'
for n in $(seq 4 14); do
    few "$n" query index new.jsonl
    few "$n" inspect index
    few "$n" dedup new.jsonl --against index -o made
    absent made.partial
    rm -rf made
    few "$n" dedup new.jsonl --against sig -o made
    absent made.partial
    rm -rf made
    few "$n" dedup parts/a/1.jsonl parts/b/2.jsonl --pairs -o deep/made
    [ "$rc" = 0 ] || absent deep/made*
    rm -rf deep
    few "$n" sign in.jsonl --band-keys -o made
    absent made.partial
    rm -rf made
done
few 100 query index new.jsonl; exits 0
few 100 dedup new.jsonl --against index -o made; exits 0
rm -r made

# A directory that cannot be looked at: as a user who may not.
chmod 000 index sig
mkdir closed
chmod 000 closed
if ls index > /dev/null 2>&1; then
    if ! command -v setpriv > /dev/null || ! setpriv --reuid 65534 --clear-groups "$PROGRAM" --version > /dev/null 2>&1; then
        skip "the end: who runs this may look at everything, and cannot become another"
    fi
    chmod 755 "$(dirname "$PWD")"
    chmod 777 .
    as='setpriv --reuid 65534 --clear-groups'
fi
# may_not COMMAND…
may_not() {
    command_line="bandmill $*"
    ${as-} "$PROGRAM" "$@" > ../out 2> ../err < /dev/null
    rc=$?
    refused 4 ".*[Pp]ermission denied"
}
may_not query index new.jsonl
may_not index info index
may_not inspect index
may_not dedup new.jsonl --against index -o made
may_not dedup new.jsonl --against sig -o made
may_not dedup new.jsonl -o closed
may_not export sig --to npy -o made
absent made*
