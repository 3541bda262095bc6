# SPDX-License-Identifier: Apache-2.0
# --scheme oph: it has its own provenance; any instruction set and number of threads gives the same bytes; verified exactly, it gives the
# same pairs as affine32; and its signatures cannot be mixed with others.
# shellcheck shell=sh disable=SC2034,SC2154
awk 'BEGIN { srand(7); for (i = 0; i < 60; i++) { t = ""; for (j = 0; j < 400; j++) t = t " w" int(rand() * 100000);
    printf "{\"id\":\"a%d\",\"text\":\"%s\"}\n", i, t; if (i % 3 == 0) printf "{\"id\":\"b%d\",\"text\":\"%s more\"}\n", i, t } }' > in.jsonl
printf '{"id":"short","text":"two words"}\n{"id":"empty","text":""}\n' >> in.jsonl

bm sign in.jsonl --scheme oph --band-keys --bands 16 --rows 8 -o sigs; exits 0
says sigs/manifest.json '"scheme": ?"oph"'
for cpu in scalar avx2 avx512 neon; do
    for threads in 1 4; do
        export BANDMILL_CPU=$cpu
        bm sign in.jsonl --scheme oph --band-keys --bands 16 --rows 8 --threads $threads --batch-docs 7 -o "$cpu$threads" -q
        unset BANDMILL_CPU
        [ "$rc" = 2 ] && continue # not of this processor
        exits 0
        holds "$cpu$threads/signatures.npy" < sigs/signatures.npy
        holds "$cpu$threads/band_keys.npy" < sigs/band_keys.npy
    done
done

bm pairs in.jsonl --candidates all -q; exits 0
cp ../out truth.tsv
[ "$(wc -l < truth.tsv)" -eq 21 ] || fail "20 pairs were planted"
for from in in.jsonl sigs; do
    [ $from = sigs ] && set -- || set -- --scheme oph
    bm pairs $from "$@" --bands 32 --rows 4 -q; exits 0
    holds ../out < truth.tsv
done
bm dedup in.jsonl --scheme oph --bands 20 --rows 5 -o out -q; exits 0
says out/report.json '"scheme": ?"oph"'
says out/report.json '"groups": ?20\b'

bm sign in.jsonl --seed 2 --scheme oph -o seed2 -q; exits 0
cmp -s seed2/signatures.npy sigs/signatures.npy && fail "the seed changes nothing"
bm sign in.jsonl -o affine -q; exits 0
bm pairs sigs affine; refused 7 '.*provenance\.scheme'
