# SPDX-License-Identifier: Apache-2.0
# index check reports each damage on a line of its own and exits with 7; no damage makes it crash.
# shellcheck shell=sh disable=SC2034,SC2154
i=0
while [ $i -lt 60 ]; do echo "{\"id\":\"d$i\",\"text\":\"$i a b c d e f g h $i i j k l m $i\"}"; i=$((i + 1)); done > in.jsonl
bm index build idx in.jsonl -q; exits 0
bm index remove idx d3 -q; exits 0
bm index check idx; exits 0; silent ../out; says ../err '^bandmill: idx is sound$'
cp idx/data.mdb whole
size=$(stat -c %s whole)
found=0
for place in 16 60 4112 8300 12400 20500 30000 41000 50000 61000; do
    [ $place -lt "$size" ] || continue
    cp whole idx/data.mdb
    old=$(od -An -tu1 -j $place -N 1 whole | tr -d ' ')
    printf "\\$(printf %o $((old ^ 255)))" | dd of=idx/data.mdb bs=1 seek=$place conv=notrunc 2> /dev/null
    bm index check idx
    case $rc in
    0) ;; # a byte that nobody reads
    7) found=$((found + 1)); [ "$(wc -l < ../err)" = 1 ] || fail "not one line on stderr"; says ../err '^bandmill: idx' ;;
    *) fail "exit code $rc" ;;
    esac
done
[ $found -ge 3 ] || fail "only $found of the changes were found"
cp whole idx/data.mdb
truncate -s 9000 idx/data.mdb
bm index check idx; exits 7
bm index info idx; exits 7
bm index add idx in.jsonl --duplicate-ids skip; exits 7
bm index check idx --json; exits 7; says ../out '"sound":false'
: > idx/data.mdb
bm index check idx; exits 7
cp whole idx/data.mdb
bm index check idx; exits 0
