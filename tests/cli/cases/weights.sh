# SPDX-License-Identifier: Apache-2.0
# --weights tfidf: what it is refused with, what the files say, that a second pass over other bytes is noticed, resume, explain, one
# device as good as another. The numbers themselves: tests/reference/test_weights.py.
# shellcheck shell=sh disable=SC2034,SC2154
awk 'BEGIN { srand(7); for (i = 0; i < 60; i++) { t = "here"; for (j = 0; j < 40; j++) t = t " w" int(rand() * 2000);
    printf "{\"id\":\"a%d\",\"text\":\"%s\"}\n", i, t; if (i % 3 == 0) printf "{\"id\":\"b%d\",\"text\":\"%s more\"}\n", i, t } }' > in.jsonl
how='--weights tfidf --shingle word:1'

# --- what does not go together ---
bm pairs in.jsonl --scheme cws; refused 2 'scheme cws signs weighted documents only'
bm sign in.jsonl --scheme cws -o sigs; refused 2 'scheme cws signs weighted documents only'
bm pairs in.jsonl $how --scheme oph; refused 2 'scheme oph does not sign weighted documents'
bm pairs in.jsonl $how --scheme affine32; refused 2 'scheme affine32 does not sign weighted documents'
bm sign in.jsonl $how --scheme affine32 -o sigs; refused 2 'scheme affine32 does not sign weighted documents'
bm pairs in.jsonl --weights bm25; refused 2 '--weights: unknown value "bm25"'
bm index build ix in.jsonl $how; refused 2 '--weights is an option of sign, not of index build'
bm query --targets in.jsonl in.jsonl $how; refused 2 '--weights is an option of sign, not of query'
bm tune in.jsonl $how; refused 2 '--weights is an option of sign, not of tune'
absent sigs ix

# --- pairs, whichever way ---
bm pairs in.jsonl $how --candidates all -q; exits 0
cp ../out truth.tsv
[ "$(wc -l < truth.tsv)" -eq 21 ] || fail "20 pairs were planted"
bm pairs in.jsonl $how --bands 32 --rows 2 -q; exits 0
holds ../out < truth.tsv
bm pairs - $how --candidates all -q < in.jsonl; exits 0
holds ../out < truth.tsv
bm pairs in.jsonl $how --candidates all --sample 80 -q; exits 0
holds ../out < truth.tsv

# --- dedup: the same from documents and from signatures, with texts and without ---
bm dedup in.jsonl $how --bands 32 --rows 2 --pairs -o out -q; exits 0
holds out/pairs.tsv < truth.tsv
says out/report.json '"scheme": ?"cws"'
says out/report.json '"weights": ?"tfidf"'
says out/report.json '"weights_documents": ?80\b'
says out/report.json '"weights_digest": ?"[0-9a-f]{32}"'
says out/report.json '"groups": ?20\b'
bm sign in.jsonl $how -o sigs -q; exits 0
bm dedup sigs --bands 32 --rows 2 --pairs -o again -q; exits 0
for name in pairs.tsv groups.jsonl removed.tsv kept.jsonl; do holds again/$name < out/$name; done
says again/report.json "$(grep -oE '"weights_digest": ?"[0-9a-f]*"' out/report.json)"
bm dedup sigs --verify signature --bands 32 --rows 2 -o words -q; exits 0
says words/report.json '"groups": ?20\b'
bm pairs sigs $how --scheme cws --bands 32 --rows 2 -q; exits 0
holds ../out < truth.tsv

bm filter out in.jsonl -o filtered -q; exits 0
holds filtered/kept.jsonl < out/kept.jsonl
says filtered/report.json "$(grep -oE '"weights_digest": ?"[0-9a-f]*"' out/report.json)"
bm filter again in.jsonl --annotate -o noted -q; exits 0
says noted/annotated.jsonl '"jaccard":0.98'

# --- other documents have other weights ---
head -n 79 in.jsonl > fewer.jsonl
bm sign fewer.jsonl $how -o fewer -q; exits 0
bm pairs sigs fewer; refused 7 '.*provenance\.weights_digest'
bm sign in.jsonl --shingle word:1 -o plain -q; exits 0
bm pairs sigs plain; refused 7 '.*provenance\.weights'
bm pairs plain --weights tfidf; refused 2 '.*weights'
bm pairs sigs --scheme oph; refused 2 '.*scheme'
bm dedup in.jsonl $how --against plain -o no; refused 2 '--against with --weights'
bm dedup in.jsonl --against sigs -o no; refused 2 '.*weights'
bm index build ix sigs --store signatures; refused 7 '.*weights'
bm index build ix sigs; refused 7 '.*weights'
absent no ix

# --- documents that are no longer those that were signed ---
cp -r sigs moved && cp in.jsonl was.jsonl
sed -i 's/here/gone/' in.jsonl
bm pairs moved --verify exact; refused 7 'in.jsonl: .*'
cp was.jsonl in.jsonl

# --- a document with no shingle of any weight counts as one without shingles ---
printf 'one and all\none and all\n' > alike.txt
bm pairs alike.txt $how --format lines --threshold 0.1; exits 0
printf 'id_a\tid_b\tjaccard\n' | holds ../out
says ../err '^bandmill: not compared: 2 documents of no weight$'
bm dedup alike.txt $how --format lines --threshold 0.1 -o alike -q; exits 0
says alike/report.json '"weightless": ?2\b'
holds alike/kept.txt < alike.txt

# --- explain: from pairs.tsv, and computed again ---
bm dedup in.jsonl $how --bands 32 --rows 2 -o bare -q; exits 0
bm explain out --group 1 --json; exits 0
cp ../out told.json
says told.json '"jaccard":0.98'
bm explain bare --group 1 --json; exits 0
holds ../out < told.json
bm explain out a0 b0 --json; exits 0
cp ../out told.json
bm explain bare a0 b0 --json; exits 0
holds ../out < told.json
bm explain words a0 b0; exits 0 # by signature

# --- on the CPU, whatever device is asked for ---
bm sign in.jsonl $how --device auto -o auto; exits 0
holds auto/signatures.npy < sigs/signatures.npy
